"""One update in PyTorch by the formulas of OptimizerOps.td: clipping, AdamW, EMA, and gradients over micro-batches."""

import torch

from reference_fastspeech2 import Batch, Draw, denominators, losses


class Optimizer:
    """AdamW with clipping by the global norm and an exponential moving average, one state per trained parameter."""

    def __init__(self, model, beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0.0, grad_clip=1.0, ema=0.999):
        self.settings = beta1, beta2, epsilon, weight_decay, grad_clip, ema
        self.trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.moment1 = {n: torch.zeros_like(p) for n, p in self.trained.items()}
        self.moment2 = {n: torch.zeros_like(p) for n, p in self.trained.items()}
        self.ema = {n: p.detach().clone() for n, p in self.trained.items()}
        self.updates = 0

    @torch.no_grad()
    def update(self, lr: float) -> float:
        """Applies the gradients; returns their norm before clipping."""
        beta1, beta2, epsilon, weight_decay, grad_clip, decay = self.settings
        self.updates += 1
        norm = torch.sqrt(sum((p.grad**2).sum() for p in self.trained.values()))
        clip = min(1.0, grad_clip / (float(norm) + 1e-6)) if grad_clip else 1.0
        for name, p in self.trained.items():
            g, m, v, e = p.grad * clip, self.moment1[name], self.moment2[name], self.ema[name]
            m.mul_(beta1).add_(g, alpha=1 - beta1)
            v.mul_(beta2).add_(g * g, alpha=1 - beta2)
            first, second = m / (1 - beta1**self.updates), v / (1 - beta2**self.updates)
            p.mul_(1 - lr * weight_decay).sub_(lr * first / (second.sqrt() + epsilon))
            e.mul_(decay).add_(p, alpha=1 - decay)
        return float(norm)


def backward(model, batches: list[Batch], draw: Draw | None) -> dict[str, float]:
    """Gradients of Σ_loss (sum over the update) / (denominator over the update); returns the losses."""
    for p in model.parameters():
        p.grad = torch.zeros_like(p) if p.requires_grad else None
    counts = [denominators(b, hasattr(model, "postnet")) for b in batches]
    total = {name: sum(c[name] for c in counts) for name in counts[0]}
    told = dict.fromkeys(total, 0.0)
    for b in batches:
        parts = losses(model(b, draw), b)
        sum(part / total[name] for name, part in parts.items()).backward()
        for name, part in parts.items():
            told[name] += float(part) / total[name]
    return told

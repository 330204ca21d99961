"""JAX's side: one jitted step with donated weights and moments, AdamW by hand."""

from functools import partial

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from safetensors import safe_open

from jax_model import loss, set_convolution
from worker import limit_processors, serve


def clipped(gradients):
    norm = jnp.sqrt(sum(jnp.square(g).sum() for g in gradients.values()))
    scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
    return {name: g * scale for name, g in gradients.items()}


def adamw(state, gradients, count, lr, weight_decay, beta1=0.9, beta2=0.98, epsilon=1e-9):
    """State and gradients are dicts by name; state is (weight, first moment, second moment)."""
    updated = {}
    for name, g in gradients.items():
        p, m, v = (part[name] for part in state)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        first, second = m / (1 - beta1**count), v / (1 - beta2**count)
        p = p * (1 - lr * weight_decay) - lr * first / (jnp.sqrt(second) + epsilon)
        updated[name] = p, m, v
    return tuple({name: parts[i] for name, parts in updated.items()} for i in range(3))


class Side:
    def __init__(self, job):
        self.job = job
        lift = limit_processors(job.threads)
        jax.config.update("jax_default_prng_impl", "rbg")  # much faster than threefry on a CPU
        set_convolution(job.variant)
        with np.load(job.batch) as arrays:
            self.batch = {name: jnp.asarray(arrays[name]) for name in arrays.files}
        with safe_open(job.weights, "numpy") as file:
            weights = {name: jnp.asarray(file.get_tensor(name)) for name in file.keys()}
        self.fixed = {n: w for n, w in weights.items() if n.endswith("boundaries")}
        trained = {n: w for n, w in weights.items() if n not in self.fixed}
        self.state = (trained, *({n: jnp.zeros_like(w) for n, w in trained.items()} for _ in range(2)))
        self.key = jax.random.key(job.seed)
        config, rate, decay = job.config, job.lr, job.weight_decay

        @partial(jax.jit, donate_argnums=0)
        def step(state, fixed, batch, key, count):
            def measured(trained):
                return loss(trained | fixed, batch, config, key)

            value, gradients = jax.value_and_grad(measured)(state[0])
            return value, adamw(state, clipped(gradients), count, rate, decay)

        self.run = step
        self.value = jax.jit(lambda trained, fixed, batch: loss(trained | fixed, batch, config))
        lift()

    def about(self):
        return {
            "version": f"JAX {jax.__version__}, jaxlib {jaxlib.__version__}",
            "threads": self.job.threads,
            "implementation": f"jit, convolution by {self.job.variant}, random numbers by rbg",
            "libraries": ["XLA's CPU backend"],
        }

    def evaluate(self):
        return float(self.value(self.state[0], self.fixed, self.batch))

    def step(self, update):
        self.key, own = jax.random.split(self.key)
        value, self.state = self.run(self.state, self.fixed, self.batch, own, jnp.float32(update))
        jax.block_until_ready(self.state)
        return float(value)


serve(Side)

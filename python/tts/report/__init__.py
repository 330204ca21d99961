"""Pictures of a training run: losses over updates, and where the planned bytes go."""

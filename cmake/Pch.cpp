// Empty on purpose: the target that owns the precompiled header needs one source.

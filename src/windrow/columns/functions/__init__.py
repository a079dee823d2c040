"""The scalar functions of expressions, one file per family; each exports its ``KERNELS``."""

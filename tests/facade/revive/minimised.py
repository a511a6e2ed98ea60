"""Minimisations that print their progress; run under SciPy 1.7.3 it prints minimised.txt."""

from scipy.optimize import fmin_l_bfgs_b, minimize, rosen, rosen_der


def run(**options):
    minimize(rosen, [1.3, 0.7], jac=rosen_der, method="L-BFGS-B", **options)


run(options={"disp": True})
run(bounds=[(1.2, 2), (None, None)], options={"disp": True, "maxiter": 3})
run(bounds=[(1.3, 2), (None, 5)], options={"disp": True, "maxiter": 3})
run(options={"iprint": 2, "maxiter": 3})
run(options={"iprint": 0, "maxfun": 3})
run(options={"disp": False})
run()
fmin_l_bfgs_b(rosen, [1.3, 0.7], rosen_der, iprint=1)

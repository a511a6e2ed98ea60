/* The rules of optimizers, for one number of a variable and of its slots. */
#ifndef STILLFLOW_RULES_H
#define STILLFLOW_RULES_H

#include <math.h>

/* Duchi, Hazan and Singer (2011). */
static inline void adagrad(float *v, float *a, float grad, float lr) {
    *a += grad * grad;
    *v -= lr * (grad / sqrtf(*a));
}

/* Follow the regularized leader (McMahan et al., 2013), with square roots as powers. */
static inline void ftrl(float *v, float *a, float *z, float grad, float lr, float l1, float l2,
                        float l2_shrinkage) {
    float squares = *a + grad * grad, root = sqrtf(squares);
    *z += grad + 2 * l2_shrinkage * *v;
    *z -= (root - sqrtf(*a)) / lr * *v;
    float within = *z < -l1 ? -l1 : *z > l1 ? l1 : *z;
    *v = (within - *z) / (root / lr + 2 * l2);
    *a = squares;
}

/* Hinton (2012), with momentum. */
static inline void rms_prop(float *v, float *square, float *moment, float grad, float lr, float rho,
                            float momentum, float epsilon) {
    *square = *square * rho + (1 - rho) * grad * grad;
    *moment = *moment * momentum + lr * (grad / sqrtf(*square + epsilon));
    *v -= *moment;
}

/* The same with the mean of the gradients taken off (Graves, 2013). */
static inline void centered_rms_prop(float *v, float *mean, float *square, float *moment,
                                     float grad, float lr, float rho, float momentum,
                                     float epsilon) {
    *square = *square * rho + (1 - rho) * grad * grad;
    *mean = *mean * rho + (1 - rho) * grad;
    *moment = *moment * momentum + lr * (grad / sqrtf(*square - *mean * *mean + epsilon));
    *v -= *moment;
}

/* Zeiler (2012). */
static inline void adadelta(float *v, float *square, float *steps, float grad, float lr, float rho,
                            float epsilon) {
    *square = *square * rho + (1 - rho) * grad * grad;
    float step = sqrtf((*steps + epsilon) / (*square + epsilon)) * grad;
    *v -= step * lr;
    *steps = *steps * rho + (1 - rho) * step * step;
}

#endif

// One parameter, Adam's moments of it, and a step (numerics/adam.py is the reference).
#pragma once

constexpr float BETA1 = 0.9f, BETA2 = 0.999f, EPSILON = 1e-8f;

struct Parameter {
  float value, mean, square;
};

__device__ inline void adam(Parameter& p, float gradient, float rate, float correction) {
  p.mean = BETA1 * p.mean + (1.f - BETA1) * gradient;
  p.square = BETA2 * p.square + (1.f - BETA2) * gradient * gradient;
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(correction * p.square));
  p.value -= __fdividef(rate * p.mean, root + EPSILON);
}

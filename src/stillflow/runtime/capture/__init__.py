"""Steps of a plan that are captured together as CUDA graphs."""

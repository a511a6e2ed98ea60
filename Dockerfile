# Stillflow, its programs' dependencies aside:
#
#     docker build -t stillflow .
#     docker run --rm -v "$PWD:/work" stillflow train.py                # CPU
#     docker run --rm --gpus all -v "$PWD:/work" stillflow train.py     # CUDA
#
# pip's PyTorch for Linux brings the CUDA libraries along; the host needs NVIDIA's driver and container
# toolkit. For an image without them, a tenth of the size, name the index with PyTorch's CPU builds:
#
#     docker build -t stillflow:cpu --build-arg TORCH_INDEX=ADDRESS .
FROM python:3.12-slim

ARG TORCH_INDEX=
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1

RUN pip install "torch>=2.11" ${TORCH_INDEX:+--index-url "$TORCH_INDEX"}
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
COPY tools/build_*.py /src/tools/
RUN pip install "/src[image,cli]" "tensorboard>=2.21" && rm -rf /src

# Programs are mounted here and write as whoever runs them: docker run --user "$(id -u):$(id -g)" ...
WORKDIR /work
EXPOSE 6006
ENTRYPOINT ["python", "-m", "stillflow"]
CMD ["--help"]

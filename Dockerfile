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
#
# The target "serve" is a server of models that takes the place of the image tensorflow/serving:
#
#     docker build --target serve -t stillflow-serve .
#     docker run -p 8500:8500 -p 8501:8501 -v "$PWD/model:/models/model" -e MODEL_NAME=model stillflow-serve
FROM python:3.12-slim AS base

ARG TORCH_INDEX=
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1

RUN pip install "torch>=2.11" ${TORCH_INDEX:+--index-url "$TORCH_INDEX"}
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
COPY tools/build_*.py /src/tools/

FROM base AS serve
RUN pip install "/src[serve]" && rm -rf /src
ENV MODEL_NAME=model MODEL_BASE_PATH=/models
EXPOSE 8500 8501
USER nobody
ENTRYPOINT ["sh", "-c", "exec python -m stillflow serve --model_name=\"$MODEL_NAME\" --model_base_path=\"$MODEL_BASE_PATH/$MODEL_NAME\" \"$@\"", "serve"]

FROM base
RUN pip install "/src[image,cli]" "tensorboard>=2.21" && rm -rf /src

# Programs are mounted here and write as whoever runs them: docker run --user "$(id -u):$(id -g)" ...
WORKDIR /work
EXPOSE 6006
ENTRYPOINT ["python", "-m", "stillflow"]
CMD ["--help"]

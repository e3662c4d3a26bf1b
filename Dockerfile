# CPU: docker build -t voxaudit .
# GPU: docker build -t voxaudit:cuda --build-arg BASE=nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04 --build-arg EXTRAS=demo,faster-whisper,transformers .
# Run: docker run --rm -v "$PWD:/audit" voxaudit run audit.toml
ARG BASE=python:3.13-slim-bookworm
FROM ${BASE}

ARG EXTRAS=demo
ENV PIP_NO_CACHE_DIR=1 \
    PATH=/opt/voxaudit/bin:${PATH}

# An image without Python (CUDA's) gets its own distribution's, in whatever version that has.
# hadolint ignore=DL3008
RUN if ! command -v python3 >/dev/null; then \
      apt-get update \
      && apt-get install -y --no-install-recommends python3 python3-venv \
      && rm -rf /var/lib/apt/lists/*; \
    fi \
    && python3 -m venv /opt/voxaudit

COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN pip install "/source[${EXTRAS}]" && rm -rf /source \
    && useradd --create-home --uid 10001 auditor

USER 10001
WORKDIR /audit
ENTRYPOINT ["voxaudit"]
CMD ["--help"]

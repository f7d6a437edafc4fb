# SPDX-License-Identifier: MIT OR Apache-2.0
# A server on HAKMEM in Debian 12, on x86-64 and AArch64, from the packages of `make deb` and `make deb ARCH=arm64`:
#   docker buildx build --platform linux/amd64,linux/arm64 -f packaging/container/debian.Dockerfile build
# redis stands for any program. tests/packages/container.py types this file in plain roots, without an engine.
FROM debian:12-slim
ARG TARGETARCH
COPY deb*/libhakmem0_*_${TARGETARCH}.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends redis-server /tmp/libhakmem0_*_${TARGETARCH}.deb && rm -rf /var/lib/apt/lists/* /tmp/libhakmem0_*
# Last: it holds for each program from here on. The name alone is found on both machines.
ENV LD_PRELOAD=libhakmem.so.0
USER redis
CMD ["redis-server", "--protected-mode", "no"]

# SPDX-License-Identifier: MIT OR Apache-2.0
# A server on HAKMEM in Alpine, on x86-64 and AArch64; the library is built there, as its libc is musl.
#   make dist, then docker buildx build --platform linux/amd64,linux/arm64 -f packaging/container/alpine.Dockerfile build
# Not tried: no package of Alpine could be had. Tried on musl otherwise: docs/guide/install.md.
FROM alpine:3.20 AS library
RUN apk add --no-cache gcc g++ musl-dev linux-headers cmake ninja
ADD hakmem-0.1.0.tar.gz /
RUN cmake -S /hakmem-0.1.0 -B /build -G Ninja -DHAK_BUILD_TESTS=OFF -DHAK_BUILD_TOOLS=OFF && cmake --build /build --target hakmem && strip --strip-debug /build/libhakmem.so.0.1.0

FROM alpine:3.20
RUN apk add --no-cache redis
COPY --from=library /build/libhakmem.so.0.1.0 /usr/lib/libhakmem.so.0
ENV LD_PRELOAD=/usr/lib/libhakmem.so.0
USER redis
CMD ["redis-server", "--protected-mode", "no"]

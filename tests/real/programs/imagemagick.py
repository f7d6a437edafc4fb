# SPDX-License-Identifier: MIT OR Apache-2.0
"""ImageMagick: drawing, noise, blur, distortion, colour spaces, layers and a montage, with several OpenMP threads."""

from harness.session import Session

SIZE = "800x600"
SOURCES = {
    "plasma.png": ("-seed", "7", "-size", SIZE, "plasma:tomato-steelblue"),
    "drawn.png": ("-size", SIZE, "gradient:navy-white", "-fill", "orange", "-draw", "circle 400,300 500,420",
                  "-draw", "bezier 20,20 500,700 900,50 1100,800",
                  "-pointsize", "60", "-annotate", "+100+200", "some text"),
    "fractal.png": ("-seed", "9", "-size", SIZE, "xc:gray", "-attenuate", "2", "+noise", "Gaussian"),
}
OPERATIONS = {
    "blurred.png": ("plasma.png", "-gaussian-blur", "0x6"),
    "sharp.tif": ("drawn.png", "-unsharp", "0x3+2+0", "-compress", "LZW"),
    "turned.png": ("drawn.png", "-virtual-pixel", "tile", "-distort", "Arc", "120", "-resize", "50%"),
    "median.png": ("fractal.png", "-resize", "400x", "-statistic", "Median", "5x5"),
    "lab.miff": ("plasma.png", "-colorspace", "Lab", "-equalize", "-colorspace", "sRGB"),
    "few.gif": ("plasma.png", "drawn.png", "-resize", "300x", "-colors", "32", "-layers", "optimize"),
    "picture.jpg": ("plasma.png", "-quality", "80", "-sampling-factor", "4:2:0"),
    "edges.png": ("drawn.png", "-canny", "0x1+10%+30%"),
    "waves.webp": ("plasma.png", "-fft", "-delete", "1", "-auto-level", "-wave", "10x80",
                   "-define", "webp:lossless=true"),
    "morphed.miff": ("plasma.png", "drawn.png", "-resize", "400x", "-morph", "6"),
}
EXACT = ("-define", "png:exclude-chunks=date,time",
         "+set", "date:create", "+set", "date:modify", "+set", "date:timestamp")


def run(session: Session) -> None:
    """Pictures made, changed, put together; every picture's pixels as a checksum, most files byte for byte."""
    env = {"MAGICK_THREAD_LIMIT": "4", "OMP_NUM_THREADS": "4", "SOURCE_DATE_EPOCH": "1709164800"}
    for name, words in (SOURCES | OPERATIONS).items():
        session.run("convert", *words, *EXACT, name, env=env)
    session.run("montage", "plasma.png", "drawn.png", "blurred.png", "median.png", "-geometry", "300x200+4+4", *EXACT,
                "montage.png", env=env)
    session.run("identify", "-format", "%f %wx%h %[colorspace] %k %#\\n", *SOURCES, *OPERATIONS, "montage.png", env=env)
    session.run("compare", "-metric", "RMSE", "plasma.png", "blurred.png", "null:", expect=1, env=env)
    session.run("convert", "none.png", "out.png", expect=1, env=env)
    session.result("*.png", "*.jpg", "*.gif", "*.tif")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""ffmpeg: a generated video encoded by four codecs with threads, filters, streams copied; sums of frames."""

from harness.session import Session

VIDEO = "testsrc2=size=640x360:rate=25:duration=4"
SOUND = "sine=frequency=440:sample_rate=44100:duration=4"
EXACT = ("-fflags", "+bitexact", "-flags", "+bitexact", "-bitexact", "-map_metadata", "-1")
ENCODERS = {
    "a.mp4": ("-c:v", "libx264", "-preset", "medium", "-c:a", "aac"),
    "b.mkv": ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-c:a", "flac"),
    "c.webm": ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-row-mt", "1", "-c:a", "libopus"),
    "d.avi": ("-c:v", "mpeg4", "-q:v", "4", "-c:a", "libmp3lame"),
}
FILTERS = "split[a][b];[a]scale=320:180,hflip,boxblur=3[c];[b][c]overlay=10:10,eq=contrast=1.2,unsharp,drawgrid"


def run(session: Session) -> None:
    """Encodes, decodes every file to checksums of its frames, filters, cuts without encoding, makes pictures."""
    def ffmpeg(*words: str) -> None:
        session.run("ffmpeg", "-nostdin", "-nostats", "-loglevel", "error", "-y", "-threads", "4", *words)

    for name, codecs in ENCODERS.items():
        ffmpeg("-f", "lavfi", "-i", VIDEO, "-f", "lavfi", "-i", SOUND, "-threads", "4", *codecs, *EXACT, name)
        ffmpeg("-i", name, "-f", "framemd5", "-")
        session.run("ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", name)
    ffmpeg("-i", "a.mp4", "-filter_complex_threads", "3", "-filter_complex", FILTERS, "-f", "framemd5", "-")
    ffmpeg("-i", "a.mp4", "-ss", "1", "-t", "2", "-c", "copy", *EXACT, "part.mp4")
    ffmpeg("-i", "b.mkv", "-vf", "fps=2", "-pix_fmt", "rgb24", *EXACT, "frame%02d.png")
    session.result(*ENCODERS, "part.mp4", "*.png")

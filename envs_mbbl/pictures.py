"""A picture of every task, as in docs/environments.md.

python -m envs_mbbl.pictures docs/images/envs
"""

import argparse
from pathlib import Path

import numpy as np

from envs_mbbl.drawing import Picture
from envs_mbbl.factory import make
from envs_mbbl.tasks import TASKS

EARLY, LATE = 12, 300  # steps: too few to fall; enough for tasks that go on after a fall to show it


def picture(name: str) -> Picture:
    env = make(name, render_mode="rgb_array")
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    goes_on = f"{name}-ET" in TASKS
    for _ in range(LATE if goes_on else EARLY):
        env.step(rng.uniform(-0.5, 0.5, env.task.action_dim))
    frame = env.render()
    env.close()
    return frame


def main() -> None:
    parser = argparse.ArgumentParser(description="A picture of every task, as <task>.png.")
    parser.add_argument("directory", type=Path)
    directory: Path = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    for name in TASKS:
        save(directory / f"{name}.png", picture(name))
        print(directory / f"{name}.png", flush=True)


def save(path: Path, frame: Picture) -> None:
    from PIL import Image  # comes with matplotlib

    # 64 colours are enough for these scenes and keep every file small.
    Image.fromarray(frame).quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    main()

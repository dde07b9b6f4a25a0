"""Pictures, without a window: a small canvas for the classic tasks, a camera for those on MuJoCo."""

import os
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 320, 240

Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]
Point = tuple[float, float]

BLACK, GREY, RED, BLUE, TAN = (0, 0, 0), (150, 150, 150), (200, 60, 60), (50, 90, 200), (205, 150, 100)

NO_GL = (
    "cannot render: no EGL driver. On Debian: apt-get install libegl1 libgl1 libegl-mesa0 libgl1-mesa-dri. "
    "Or choose another one by the environment variable MUJOCO_GL (egl, osmesa, glfw) before Python starts."
)


class Canvas:
    """White; `height` units of the plane fit from bottom to top, around `centre`."""

    def __init__(self, height: float, centre: Point = (0.0, 0.0)) -> None:
        self._pixel = height / HEIGHT  # in units of the plane
        columns = (np.arange(WIDTH) - (WIDTH - 1) / 2) * self._pixel
        rows = ((HEIGHT - 1) / 2 - np.arange(HEIGHT)) * self._pixel
        self._x = centre[0] + columns[None, :]
        self._y = centre[1] + rows[:, None]
        self._picture = np.full((HEIGHT, WIDTH, 3), 255.0)

    def line(self, start: Point, end: Point, width: float, colour: Colour) -> None:
        """With round ends and soft edges: a pixel's colour depends on its distance from the segment."""
        dx, dy = end[0] - start[0], end[1] - start[1]
        x, y = self._x - start[0], self._y - start[1]
        along = np.clip((x * dx + y * dy) / max(dx * dx + dy * dy, 1e-12), 0.0, 1.0)
        distance = np.hypot(x - along * dx, y - along * dy)
        cover = np.clip((width / 2 - distance) / self._pixel + 0.5, 0.0, 1.0)[..., None]
        self._picture += cover * (np.array(colour) - self._picture)

    def lines(self, points: list[Point], width: float, colour: Colour) -> None:
        for start, end in pairwise(points):
            self.line(start, end, width, colour)

    def dot(self, centre: Point, width: float, colour: Colour) -> None:
        self.line(centre, centre, width, colour)

    def picture(self) -> Picture:
        return self._picture.round().astype(np.uint8)


class MujocoCamera:
    """An offscreen OpenGL context with the model's scene in it."""

    def __init__(self, model: Any, camera: dict[str, Any] | None) -> None:
        """`camera` has attributes of a free camera; None is the model's first one, which follows the body."""
        import mujoco

        self._mujoco, self._model = mujoco, model
        self._gl: Any = None
        self._gl = _gl_context_class()(WIDTH, HEIGHT)
        self._gl.make_current()
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        self._option = mujoco.MjvOption()
        self._rectangle = mujoco.MjrRect(0, 0, WIDTH, HEIGHT)
        self._camera = mujoco.MjvCamera()
        if camera is None:
            self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
            self._camera.fixedcamid = 0
        else:
            mujoco.mjv_defaultFreeCamera(model, self._camera)
            for name, value in camera.items():
                setattr(self._camera, name, value)

    def picture(self, data: Any) -> Picture:
        everything = self._mujoco.mjtCatBit.mjCAT_ALL.value
        self._gl.make_current()
        self._mujoco.mjv_updateScene(
            self._model, data, self._option, None, self._camera, everything, self._scene
        )
        self._mujoco.mjr_render(self._rectangle, self._scene, self._context)
        pixels = np.empty((HEIGHT, WIDTH, 3), dtype=np.uint8)
        self._mujoco.mjr_readPixels(pixels, None, self._rectangle, self._context)
        return pixels[::-1].copy()  # OpenGL's rows go from bottom to top

    def close(self) -> None:
        if self._gl is not None:
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._gl = None


def _gl_context_class() -> Any:
    """EGL, which needs no display, unless MUJOCO_GL asks for something else."""
    try:
        if os.environ.get("MUJOCO_GL"):
            from mujoco import GLContext
        else:
            from mujoco.egl import GLContext
    except (ImportError, AttributeError, OSError) as error:  # PyOpenGL fails in all of these ways
        raise RuntimeError(NO_GL) from error
    return GLContext

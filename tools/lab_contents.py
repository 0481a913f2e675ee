"""What JupyterLab shows beside the student's notebooks: the course, to be read.

`make lab` names this class on the command line. Its root is work/, and three folders of
the course appear in it, so that `../solutions/02_attention.ipynb` is the same link in
JupyterLab as on disk. Nothing can be saved, renamed, deleted or made in them. A folder
of the same name in work/ is the student's own, and comes first.
"""

import os
from pathlib import Path

from jupyter_core.utils import ensure_async
from jupyter_server.files.handlers import FilesHandler
from jupyter_server.services.contents.filemanager import AsyncFileContentsManager
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError
from traitlets import default

ROOT = Path(__file__).resolve().parent.parent
READ_ONLY = ("solutions", "docs", "helpers")  # folders of the course


class Contents(AsyncLargeFileManager):
    """The files of work/, and folders of the course that can only be read."""

    @default("files_handler_class")
    def _files_handler_class_default(self) -> type:
        return FilesHandler  # asks this class, and not the disk, for pictures

    @default("files_handler_params")
    def _files_handler_params_default(self) -> dict:
        return {}

    def _ours(self, path: str) -> bool:
        """Whether an API path lies in a folder of the course."""
        folder = path.strip("/").split("/")[0]
        own = os.path.join(self.root_dir, folder)
        return folder in READ_ONLY and not os.path.lexists(own)

    def _inside(self, path: str) -> tuple[AsyncFileContentsManager, str]:
        """What reads a folder of the course, and the path that it knows."""
        folder, _, rest = path.strip("/").partition("/")
        reader = AsyncFileContentsManager(
            parent=self, root_dir=str(ROOT / folder), notary=self.notary
        )
        return reader, rest

    # --- reading ----------------------------------------------------------------------

    async def get(
        self,
        path: str,
        content: bool = True,
        type: str | None = None,
        format: str | None = None,
        require_hash: bool = False,
    ) -> dict:
        """Return the model of a file or a folder, see Jupyter's own class."""
        how = {"type": type, "format": format, "require_hash": require_hash}
        if self._ours(path):
            reader, rest = self._inside(path)
            model = await reader.get(rest, content=content, **how)
            return _read_only(model, path.strip("/").split("/")[0])
        model = await super().get(path, content=content, **how)
        if content and not path.strip("/"):
            ours = (folder for folder in READ_ONLY if self._ours(folder))
            model["content"] += [await self.get(one, content=False) for one in ours]
        return model

    async def dir_exists(self, path: str) -> bool:
        """Whether there is such a folder."""
        if self._ours(path):
            reader, rest = self._inside(path)
            return await reader.dir_exists(rest)
        return await super().dir_exists(path)

    async def file_exists(self, path: str) -> bool:
        """Whether there is such a file."""
        if self._ours(path):
            reader, rest = self._inside(path)
            return await reader.file_exists(rest)
        return await super().file_exists(path)

    async def is_hidden(self, path: str) -> bool:
        """Whether a file or a folder is not to be shown."""
        if self._ours(path):
            reader, rest = self._inside(path)
            return await reader.is_hidden(rest)
        return await super().is_hidden(path)

    async def get_kernel_path(self, path: str, model: dict | None = None) -> str:
        """Return where a kernel starts: beside its notebook, as for every other.

        A solution that is run must not find itself in work/: its checks would record
        the student's progress.
        """
        parent = await super().get_kernel_path(path, model)
        if not self._ours(path):
            return parent
        return Path(os.path.relpath(ROOT / parent, self.root_dir)).as_posix()

    # --- nothing is written there -----------------------------------------------------

    def _refuse(self, *paths: str) -> None:
        for path in paths:
            if self._ours(path):
                folder = path.strip("/").split("/")[0]
                raise HTTPError(
                    403, f"{folder}/ belongs to the course and can only be read."
                )

    async def save(self, model: dict, path: str = "") -> dict:
        """Save a file, or make a folder."""
        self._refuse(path)
        return await super().save(model, path)

    async def delete_file(self, path: str) -> None:
        """Delete a file or a folder."""
        self._refuse(path)
        await super().delete_file(path)

    async def rename_file(self, old_path: str, new_path: str) -> None:
        """Rename or move a file or a folder."""
        self._refuse(old_path, new_path)
        await super().rename_file(old_path, new_path)

    async def copy(self, from_path: str, to_path: str | None = None) -> dict:
        """Copy a file or a folder; of the course a file, and not into the course."""
        if to_path is None or not await self.file_exists(from_path):
            self._refuse(from_path)
        self._refuse(to_path or "")
        return await super().copy(from_path, to_path)

    async def create_checkpoint(self, path: str) -> dict:
        """Keep a copy of a file as it is."""
        self._refuse(path)
        return await super().create_checkpoint(path)

    async def restore_checkpoint(self, checkpoint_id: str, path: str) -> None:
        """Put a kept copy back."""
        self._refuse(path)
        await super().restore_checkpoint(checkpoint_id, path)

    async def delete_checkpoint(self, checkpoint_id: str, path: str) -> None:
        """Forget a kept copy."""
        self._refuse(path)
        await super().delete_checkpoint(checkpoint_id, path)

    async def list_checkpoints(self, path: str) -> list[dict]:
        """Name the kept copies; merely asking for them makes a folder in work/."""
        if self._ours(path):
            return []
        return await ensure_async(super().list_checkpoints(path))


def _read_only(model: dict, folder: str) -> dict:
    """Return the model of what lies in a folder of the course, as work/ sees it."""
    rest = model["path"].strip("/")
    model |= {"path": f"{folder}/{rest}" if rest else folder, "writable": False}
    model["name"] = model["path"].rsplit("/")[-1]
    if model["type"] == "directory" and model["content"]:
        model["content"] = [_read_only(one, folder) for one in model["content"]]
    return model

"""What a disk holds of a folder after a power loss at any call, computed from the trace that fault_shim.cpp records.

The model: fsync of a file makes its bytes durable, fsync of a folder the names in it; nothing else does. A rename or
removal whose folder was not flushed may be lost, and so may the bytes of a file whose name was flushed. A folder's
names change in order; links are not modelled. torn() also keeps any sectors of a file that was not flushed.
"""
import pathlib


class File:
    def __init__(self, data=b"", durable=b""):
        self.data, self.durable = bytearray(data), bytes(durable)


class Folder:
    def __init__(self):
        self.names, self.durable = {}, {}


def read_trace(path):
    """The calls, in order: (name, arguments, bytes written)."""
    text, at, calls = path.read_bytes() if path.exists() else b"", 0, []
    while at < len(text):
        end = text.index(b"\n", at)
        name, _, rest = text[at:end].decode().partition(" ")
        at, data = end + 1, b""
        if name == "write":
            size = int(rest.split()[2])
            data, at = text[at:at + size], at + size
        calls.append((name, rest, data))
    return calls


class Disk:
    """A folder as it is when recording starts: all of it durable. apply() does one call of the trace."""

    def __init__(self, root):
        self.root, self.inodes = pathlib.Path(root), {}
        self.top = self._read(self.root)

    def _read(self, path):
        if path.is_dir():
            node = Folder()
            node.names = {entry.name: self._read(entry) for entry in path.iterdir()}
            node.durable = dict(node.names)
        else:
            node = File(path.read_bytes(), path.read_bytes())
        self.inodes[path.stat().st_ino] = node
        return node

    def _folder_of(self, path):
        """The folder that holds the path, and its name there."""
        node, parts = self.top, pathlib.Path(path).relative_to(self.root).parts
        for part in parts[:-1]:
            node = node.names[part]
        return node.names, parts[-1]

    def apply(self, call):
        name, rest, data = call
        words = rest.split(" ", 1)
        if name in ("create", "mkdir"):
            names, last = self._folder_of(words[1])
            names[last] = self.inodes[int(words[0])] = File() if name == "create" else Folder()
        elif name == "write":
            file, at = self.inodes[int(words[0])].data, int(words[1].split()[0])
            file.extend(bytes(max(0, at - len(file))))
            file[at:at + len(data)] = data
        elif name == "truncate":
            file, size = self.inodes[int(words[0])].data, int(words[1])
            del file[size:]
            file.extend(bytes(size - len(file)))
        elif name == "fsync":
            node = self.inodes[int(words[0])]
            if isinstance(node, Folder):
                node.durable = dict(node.names)
            else:
                node.durable = bytes(node.data)
        elif name == "rename":
            old, new = rest.split("\t")
            names, last = self._folder_of(old)
            node = names.pop(last)
            names, last = self._folder_of(new)
            names[last] = node
        elif name == "unlink":
            names, last = self._folder_of(rest)
            del names[last]

    def tree(self, names_kept, data_kept):
        """The files by path; a folder is a path that ends with "/". Kept: also what was not flushed, or as a function says."""
        found = {}

        def walk(folder, prefix):
            for name, node in (folder.names if names_kept else folder.durable).items():
                if isinstance(node, Folder):
                    found[prefix + name + "/"] = b""
                    walk(node, prefix + name + "/")
                else:
                    found[prefix + name] = data_kept(node) if callable(data_kept) else bytes(node.data) if data_kept else node.durable

        walk(self.top, "")
        return found

    def path_of(self, inode):
        """The path of the file that this inode is now, or None."""
        def search(folder, prefix):
            for name, node in folder.names.items():
                if node is self.inodes.get(inode):
                    return prefix + name
                if isinstance(node, Folder) and (found := search(node, prefix + name + "/")):
                    return found
            return None

        return search(self.top, "")

    def torn(self, chosen):
        """After a power loss that kept all names, and of bytes that were not flushed any sectors of 512."""
        def sectors(node):
            size = len(node.data) if chosen.random() < 0.5 else len(node.durable)
            old, new = node.durable.ljust(size, b"\0")[:size], bytes(node.data).ljust(size, b"\0")[:size]
            return b"".join((new if chosen.random() < 0.5 else old)[at:at + 512] for at in range(0, size, 512))

        return self.tree(True, lambda node: node.durable if bytes(node.data) == node.durable else sectors(node))

    def crash_states(self):
        """What may be there after a crash now: a killed process loses nothing, a power loss what was not flushed."""
        return {"killed": self.tree(True, True), "dropped": self.tree(False, False), "reordered": self.tree(True, False)}

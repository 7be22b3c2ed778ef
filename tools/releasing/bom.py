"""The bill of materials (CycloneDX 1.6): the files of the release, and the libraries that they contain or require.

It is data that the schema of CycloneDX, as its Python library has it, accepts.
"""

import datetime
import hashlib
import json
import re
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement

from releasing.distributions import requirements_of
from releasing.source import Source, Unfit

PRODUCT = "fileops-server"
IMPORT = re.compile(r"(?:from|import\() ?'((?:@[^'/]+/)?[a-z][^'.:/]*)")  # of a package, not of a file

Component = dict[str, Any]


def write(source: Source, dist: Path, name: str) -> None:
    """Describe what is in `dist`: the same files make the same bytes. Raises: Unfit."""
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(dist.iterdir())}
    files = [_file(file, digest) for file, digest in digests.items()]
    required, contained = _required(dist), _contained(source)
    parts = {f"fileops-vscode-{source.version}.vsix": contained}
    parts |= {path.name: required for path in dist.glob("fileops_server-*.whl")}
    depending = {PRODUCT: files, **{file: parts.get(file, []) for file in digests}}
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, "".join(digests.values())).urn,
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(source.epoch, datetime.UTC).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": PRODUCT,
                "name": PRODUCT,
                "version": source.version,
                "licenses": [{"license": {"id": "MIT"}}],
            },
        },
        "components": [*files, *required, *contained],
        "dependencies": [
            {"ref": ref, "dependsOn": [component["bom-ref"] for component in components]}
            for ref, components in depending.items()
        ],
    }
    text = json.dumps(document, indent=1) + "\n"
    if (complaint := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)) is not None:
        raise Unfit(f"The bill of materials does not fit its schema: {complaint}")
    (dist / name).write_text(text, "utf-8")


def _file(name: str, digest: str) -> Component:
    return {"type": "file", "bom-ref": name, "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}


def _required(dist: Path) -> list[Component]:
    """Return what the wheel of the server asks for; what only extras ask for is optional."""
    by_name: dict[str, list[Requirement]] = {}
    for text in requirements_of(next(dist.glob("fileops_server-*.whl"))):
        requirement = Requirement(text)
        by_name.setdefault(requirement.name, []).append(requirement)
    by_name.pop(PRODUCT, None)  # extras that contain others
    return [
        {
            "type": "library",
            "bom-ref": f"pypi:{name}",
            "name": name,
            "scope": "optional" if all(one.marker for one in requirements) else "required",
            "purl": f"pkg:pypi/{name}",
            "properties": [{"name": "fileops:requires", "value": str(one)} for one in requirements],
        }
        for name, requirements in sorted(by_name.items())
    ]


def _contained(source: Source) -> list[Component]:
    """Return the packages of npm that are bundled into the extension: what its sources import, directly or not."""
    extension = source.tree / "clients" / "vscode"
    packages: dict[str, Any] = json.loads((extension / "package-lock.json").read_text("utf-8"))["packages"]
    texts = [path.read_text("utf-8") for path in (extension / "src").rglob("*.ts")]
    waiting = [f"node_modules/{name}" for text in texts for name in IMPORT.findall(text)]
    found: set[str] = set()
    while waiting:
        if (place := waiting.pop()) in found or place not in packages:  # Node and VS Code bring theirs
            continue
        found.add(place)
        for name in packages[place].get("dependencies", {}):
            own = f"{place}/node_modules/{name}"
            waiting.append(own if own in packages else f"node_modules/{name}")
    return [_package(place, packages[place]) for place in sorted(found)]


def _package(place: str, package: dict[str, Any]) -> Component:
    name = place.rpartition("node_modules/")[2]
    version = package["version"]
    purl = f"pkg:npm/{quote(name)}@{version}"
    component = {"type": "library", "bom-ref": f"npm:{place}", "name": name, "version": version, "purl": purl}
    return component | ({"licenses": [{"expression": package["license"]}]} if "license" in package else {})

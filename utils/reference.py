"""Prints a reference in Markdown: `llvm-tblgen --dump-json FILE.td | utils/reference.py flow` (or `kern`, `passes`).

Called by utils/regen. mlir-tblgen can write references too, but repeats the same tables of operands for every op.
"""

import html
import json
import re
import sys
import textwrap

NOTE = "<!-- Written by utils/regen from the .td files; change those. -->"


def fail(message):
    sys.exit(f"error: {message}")


class Records:
    """The records of a .td file."""

    def __init__(self, text):
        self.all = json.loads(text)

    def of(self, kind):
        """The named records that derive from class `kind`."""
        records = [self.all[name] for name in self.all["!instanceof"].get(kind, [])]
        return [record for record in records if not record["!anonymous"]]

    def is_a(self, name, kind):
        return name in self.all["!instanceof"].get(kind, [])

    def get(self, reference):
        return self.all[reference["def"]]


def prose(text):
    """A description without the indentation of its .td file."""
    return textwrap.dedent((text or "").strip("\n")).strip()


def sentence(record, name):
    """The summary of `record`, which must be one sentence."""
    text = " ".join((record["summary"] or "").split())
    if not text.endswith("."):
        fail(f"the summary of {name} is no sentence that ends in a full stop: `{text}`")
    return text


def cell(text):
    return text.replace("|", "\\|")


def as_html(text):
    """A line of Markdown for <summary>, where Markdown is not read."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))


def table(head, rows):
    lines = [head, ["---"] * len(head)] + rows
    return "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines)


def fold(title, body):
    return f"<details>\n<summary>{as_html(title)}</summary>\n\n{body}\n\n</details>"


def code_list(names):
    return ", ".join(f"`{name}`" for name in names)


# --- the dialect ------------------------------------------------------------------------------------------------------


def attribute_kind(records, kind):
    if records.is_a(kind, "OptionalAttr"):
        return attribute_kind(records, records.all[kind]["baseAttr"]["def"]) + ", optional"
    if records.is_a(kind, "EnumAttr"):
        return records.all[kind]["mnemonic"].replace("_", " ")
    if kind == "UnitAttr":
        return "flag"
    return records.all[kind]["summary"].removesuffix(" attribute")


def signature(records, op):
    """The operands and attributes of an op, in a sentence each. Maps of dense ops belong to their syntax."""
    operands, attributes = [], []
    for argument, name in op["arguments"]["args"]:
        kind = argument["def"]
        if records.is_a(kind, "AttrConstraint"):
            if name != "maps":
                attributes.append(f"`{name}` ({attribute_kind(records, kind)})")
        else:
            note = " (optional)" if records.is_a(kind, "Optional") else ""
            note = " (any number)" if records.is_a(kind, "Variadic") else note
            operands.append(f"`{name}`{note}")
    lines = []
    if operands:
        lines.append("Operands: " + ", ".join(operands) + ".")
    if attributes:
        lines.append("Attributes: " + ", ".join(attributes) + ".")
    return "\n".join(lines)


def dialect_reference(records, own):
    """The reference of the dialect called `own`."""
    (dialect,) = [record for record in records.of("Dialect") if record["name"] == own]
    description = prose(dialect["description"])
    for kind in ("Flow_Domain", "Flow_Map") if own == "flow" else ():
        for case in records.all[kind]["enumerants"]:
            word = records.get(case)["str"]
            if f"`{word}`" not in description:
                fail(f"the description of the dialect does not explain `{word}` of {kind}")

    families = {}
    for op in records.of("Op"):
        if records.get(op["opDialect"])["name"] != own:
            continue
        name = f"{own}.{op['opName']}"
        if op["opDocGroup"] is None:
            fail(f"{name} has no opDocGroup; put it into the `let opDocGroup = … in {{` of its file")
        families.setdefault(op["opDocGroup"]["def"], []).append((name, op))

    overview, details = [], []
    for key, ops in sorted(families.items()):
        family = records.all[key]
        title = family["summary"]
        details.append(f"## {title} ops\n\n{prose(family['description'])}")
        anchor = f"[{title.lower()}](#{title.lower()}-ops)"
        alike = {}  # ops that differ in their names and summaries alone
        for name, op in sorted(ops, key=lambda item: item[0]):
            overview.append([f"`{name}`", sentence(op, name), anchor])
            body = "\n\n".join(part for part in (prose(op["description"]), signature(records, op)) if part)
            alike.setdefault(body, []).append((name, op))
        for body, same in alike.items():
            names = code_list(name for name, _ in same)
            title = names if len(same) > 1 else f"{names}: {sentence(same[0][1], names)}"
            details.append(fold(title, body))

    attributes = []
    for record in records.of("TypeDef") + records.of("AttrDef"):
        if record["mnemonic"] is None or records.is_a(record["!name"], "EnumAttr"):
            continue
        if records.get(record["dialect"])["name"] != own:
            continue
        sigil = "!" if records.is_a(record["!name"], "TypeDef") else "#"
        name = f"`{sigil}{own}.{record['mnemonic']}`"
        parameters = code_list(parameter for _, parameter in record["parameters"]["args"])
        body = f"{prose(record['description'])}\n\nParameters: {parameters}."
        attributes.append(fold(f"{name}: {sentence(record, name)}", body))
    enums = []
    for record in records.of("I32EnumAttr"):
        if record["cppNamespace"] != dialect["cppNamespace"]:
            continue
        words = code_list(records.get(case)["str"] for case in record["enumerants"])
        enums.append([record["className"], record["summary"].capitalize() + ".", words])

    return "\n\n".join(
        [
            f"{NOTE}\n# The {own} dialect",
            sentence(dialect, "the dialect"),
            description,
            "## Ops",
            table(["op", "what it does", "family"], overview),
            *details,
            "## Types and attributes",
            *attributes,
            table(["keywords", "meaning", "values"], enums),
        ]
    )


# --- passes -----------------------------------------------------------------------------------------------------------

PASSES = """\
By default Hector chooses which optimisations to run; see [keys and domains](rationale/keys.md). `hector run` and
`hector compile` also take a list of optimisations, without the prefix `flow-`: `--passes simplify,compact-rows`.
`simplify` stands for MLIR's canonicalizer and common subexpression elimination. `hector-opt` takes every pass as a
flag, for example `--flow-compact-rows`, and prints statistics with `--mlir-pass-statistics`.

Passes take functions with one block whose arguments are tables and whose ops are flow, before groups are formed. They
refuse other functions with an error, and leave declarations as they are."""


def pass_reference(records):
    overview, sections = [], []
    for record in sorted(records.of("PassBase"), key=lambda one: one["argument"]):
        name, summary = record["argument"], sentence(record, record["argument"])
        overview.append([f"[`{name}`](#{name})", summary])
        parts = [f"## {name}", summary, prose(record["description"])]
        for title, key in (("option", "options"), ("statistic", "statistics")):
            items = [records.get(item) for item in record[key]]
            if items:
                named = [[f"`{item.get('argument') or item['name']}`", item["description"] + "."] for item in items]
                parts.append(table([title, "meaning"], named))
        sections.append("\n\n".join(parts))
    overview = table(["pass", "what it does"], overview)
    return "\n\n".join([f"{NOTE}\n# Passes on flow", PASSES, overview, *sections])


def main():
    writers = {
        "flow": lambda records: dialect_reference(records, "flow"),
        "kern": lambda records: dialect_reference(records, "kern"),
        "passes": pass_reference,
    }
    if len(sys.argv) != 2 or sys.argv[1] not in writers:
        fail("usage: utils/reference.py flow|kern|passes < RECORDS.json")
    print(writers[sys.argv[1]](Records(sys.stdin.read())))


if __name__ == "__main__":
    main()

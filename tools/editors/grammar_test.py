"""Checks the TextMate grammar: valid, whole, and as wide as the language. Usage: grammar_test.py REPOSITORY"""

import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]
HERE = ROOT / "tools" / "editors"
GRAMMAR = json.loads((HERE / "hec.tmLanguage.json").read_text())


def rules(node):
    """Every rule of the grammar, nested ones too."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from rules(child)


def between(path, start, end):
    """The text of a source file between two markers."""
    text = (ROOT / path).read_text()
    begin = text.index(start)
    return text[begin : text.index(end, begin)]


def leaves(names):
    """The rules that a list of includes and rules leads to, in order."""
    for rule in names:
        if "include" in rule:
            yield from leaves([GRAMMAR["repository"][rule["include"][1:]]])
        elif "patterns" in rule and "begin" not in rule:
            yield from leaves(rule["patterns"])
        else:
            yield rule


def colour(line):
    """(text, scope) for each coloured part of a line, as an editor would choose them."""
    parts, at = [], 0
    while at < len(line):
        best = None
        for rule in leaves(GRAMMAR["patterns"]):
            found = re.compile(rule.get("match", rule.get("begin"))).search(line, at)
            if found and (best is None or found.start() < best[0].start()):
                best = (found, rule)
        if best is None:
            break
        found, rule = best
        end = found.end()
        if "begin" in rule:
            closing = re.compile(rule["end"]).search(line, end)
            end = closing.end() if closing else len(line)
            parts.append((line[found.start() : end], rule["name"]))
        elif "captures" in rule:
            for group, scope in rule["captures"].items():
                if found.group(int(group)) is not None:
                    parts.append((found.group(int(group)), scope["name"]))
        else:
            parts.append((found.group(0), rule["name"]))
        at = max(end, at + 1)
    return parts


class GrammarTest(unittest.TestCase):
    def test_expressions_are_valid(self):
        count = 0
        for rule in rules(GRAMMAR):
            for key in ("match", "begin", "end"):
                if isinstance(rule.get(key), str):
                    re.compile(rule[key])
                    count += 1
        self.assertGreater(count, 15)

    def test_includes_exist(self):
        for rule in rules(GRAMMAR):
            if "include" in rule:
                self.assertIn(rule["include"][1:], GRAMMAR["repository"])

    def test_extension_names_the_files(self):
        package = json.loads((HERE / "package.json").read_text())
        grammar = package["contributes"]["grammars"][0]
        self.assertEqual(grammar["scopeName"], GRAMMAR["scopeName"])
        self.assertTrue((HERE / grammar["path"]).exists())
        self.assertTrue((HERE / package["contributes"]["languages"][0]["configuration"]).exists())
        json.loads((HERE / "language-configuration.json").read_text())

    def check_words(self, words, least, line, scope):
        self.assertGreaterEqual(len(words), least, "the source no longer looks as this test expects")
        for word in words:
            self.assertIn((word, scope), colour(line.format(word)), word)

    def test_knows_the_built_in_functions(self):
        source = "compiler/Import/Builtins.cpp"
        unary = re.findall(r'\{"(\w+)",', between(source, "kUnaryFunctions[] = {", "};"))
        other = re.findall(r'"(\w+)"', between(source, "kOtherBuiltins[] = {", "};"))
        words = [word for word in unary + other if word != "range"]
        self.check_words(words, 30, "    y = {}(x)", "support.function.builtin.hec")
        self.assertIn(("range", "support.function.iterator.hec"), colour("for k in range(3):"))

    def test_knows_the_prelude(self):
        words = re.findall(r"^def (\w+)", (ROOT / "language/prelude.hec").read_text(), re.MULTILINE)
        self.check_words(words, 8, "    {}(g, x)", "support.function.prelude.hec")

    def test_knows_the_iterators(self):
        entries = between("compiler/Import/Frames.cpp", "static constexpr Entry kEntries[] = {", "};")
        words = sorted(set(re.findall(r'"(\w+)"', entries)))
        self.check_words(words, 10, "for e in n.{}():", "support.function.iterator.hec")

    def test_knows_the_members(self):
        entries = between("compiler/Import/Expressions.cpp", "static constexpr Entry kEntries[] = {", "};")
        words = sorted(set(re.findall(r'"(\w+)"', entries)))
        self.check_words(words, 8, "    y = e.{}", "variable.language.hec")

    def test_knows_the_domains(self):
        words = re.findall(r'return "(\w+)"', between("language/Signature.cpp", "spelling(Home home)", "\n}\n"))
        self.check_words(words, 5, "def f(g, x: {}[d]):", "storage.type.domain.hec")

    def test_knows_the_kinds_of_attributes(self):
        words = re.findall(r'"(\w+)"', between("language/Signature.cpp", "attributeKindFromName(", "\n}\n"))
        self.check_words(words + ["Literal"], 5, "def f(g, x: {}[1]):", "support.type.hec")

    def test_knows_the_constants(self):
        self.check_words(["False", "None", "True", "inf", "pi"], 5, "    y = x[{}]", "constant.language.hec")

    def test_colours_a_line(self):
        self.assertEqual(
            colour('        n["out"] = sum(e["a"] * e.src.h for e in n.incoming_edges()) + 0.5  # done'),
            [
                ('"out"', "variable.other.property.hec string.quoted.hec"),
                ("=", "keyword.operator.assignment.hec"),
                ("sum", "support.function.builtin.hec"),
                ('"a"', "variable.other.property.hec string.quoted.hec"),
                ("*", "keyword.operator.arithmetic.hec"),
                ("src", "variable.language.hec"),
                ("h", "variable.other.member.hec"),
                ("for", "keyword.control.hec"),
                ("in", "keyword.control.hec"),
                ("incoming_edges", "support.function.iterator.hec"),
                ("+", "keyword.operator.arithmetic.hec"),
                ("0.5", "constant.numeric.hec"),
                ("# done", "comment.line.number-sign.hec"),
            ],
        )

    def test_words_in_strings_and_comments_stay_plain(self):
        self.assertEqual(colour('f("for e")')[1], ('"for e"', "string.quoted.double.hec"))
        self.assertEqual(colour('# a "quoted" word'), [('# a "quoted" word', "comment.line.number-sign.hec")])


if __name__ == "__main__":
    unittest.main()

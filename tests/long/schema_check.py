"""Grammars of random JSON Schemas against PyPI's jsonschema: what one accepts the other finds valid.

  schema_check.py PROGRAM [PAIRS] [--write FILE]

PROGRAM is the semfuse program; PAIRS (schema, value) are compared, 2,000 unless said. With --write the cases go into FILE,
one JSON object a line, as tests/unit/grammar/schema_cases.jsonl has them. Exit code 77 if jsonschema is not installed.
"""
import json
import random
import subprocess
import sys
import tempfile

VALUES_A_SCHEMA = 10
WORDS = ["", "a", "b", "ab", "ba", "aab", "abc", "a1", "1", "é", "x\"y", "line\nend", "2024-02-29", "127.0.0.1"]
PATTERNS = ["^a", "b$", "^[ab]*$", "a|1", "^a{1,2}b?$", "[^a]", "^$", "\\d"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, probability):
        return self.random.random() < probability

    def number(self):
        whole = self.random.randint(-12, 30)
        return whole + self.pick([0.5, 0.25, -0.75]) if self.chance(0.4) else whole

    def scalar(self):
        return self.pick([None, True, False, self.number(), self.number(), self.pick(WORDS), self.pick(WORDS)])

    def value(self, depth=3):
        """Any JSON value; names of members ascend, as those of schemas do."""
        kind = self.random.randint(0, 9)
        if depth == 0 or kind < 6:
            return self.scalar()
        if kind < 8:
            return [self.value(depth - 1) for _ in range(self.random.randint(0, 4))]
        names = sorted(self.random.sample(["a", "b", "c", "d", "x1", "y", "z\""], self.random.randint(0, 4)))
        return {name: self.value(depth - 1) for name in names}

    def counts(self, schema, least, most, limit=4):
        if self.chance(0.15):  # So many that they are counted rather than written out.
            schema[most] = self.random.randint(20, 60)
            schema[least] = max(0, schema[most] - self.pick([0, 1, 5, 60]))
            return
        if self.chance(0.4):
            schema[least] = self.random.randint(0, 2)
        if self.chance(0.4):
            schema[most] = self.random.randint(0, limit)

    def schema(self, depth=3, names=("a", "b", "c", "d"), definitions=False):
        kind = self.random.randint(0, 15)
        if depth == 0:
            kind = kind % 8
        if kind == 0:
            return self.pick([True, {}, {"type": "null"}, {"type": "boolean"}, {"type": ["integer", "null", "string"]}])
        if kind == 1:
            values = [self.scalar() for _ in range(self.random.randint(1, 4))]
            return {"enum": values} if self.chance(0.7) else {"const": values[0]}
        if kind in (2, 3, 4):
            schema = {"type": self.pick(["integer", "number"])}
            if self.chance(0.5):
                schema[self.pick(["minimum", "exclusiveMinimum"])] = self.number()
            if self.chance(0.5):
                schema[self.pick(["maximum", "exclusiveMaximum"])] = self.number() + 5
            if self.chance(0.3):
                schema["multipleOf"] = self.pick([2, 3, 0.5, 0.25, 7])
            if self.chance(0.2):
                del schema["type"]
            return schema
        if kind in (5, 6, 7):
            schema = {"type": "string"}
            self.counts(schema, "minLength", "maxLength")
            if self.chance(0.5):
                schema["pattern"] = self.pick(PATTERNS)
            elif self.chance(0.2):
                schema["format"] = self.pick(["date", "ipv4"])
            if self.chance(0.2):
                del schema["type"]
            return schema
        if kind in (8, 9):
            schema = {"type": "array"}
            if self.chance(0.7):
                schema["items"] = self.schema(depth - 1)
            if self.chance(0.3):
                schema["prefixItems"] = [self.schema(depth - 1) for _ in range(self.random.randint(1, 3))]
            self.counts(schema, "minItems", "maxItems")
            return schema
        if kind in (10, 11, 12):
            return self.object(depth, names)
        if kind == 13:
            return {"anyOf": [self.schema(depth - 1) for _ in range(self.random.randint(1, 3))]}
        if kind == 14:
            types = self.random.sample(["string", "integer", "array", "boolean", "null"], self.random.randint(1, 3))
            return {"oneOf": [{"type": one} for one in types]}
        if self.chance(0.5):
            return {"allOf": [self.object(depth, ("a", "b")), self.object(depth, ("c", "d"))]}
        return {"allOf": [self.schema(0), self.schema(0)]}

    def object(self, depth, names):
        schema = {"type": "object"}
        chosen = sorted(self.random.sample(list(names), self.random.randint(0, len(names))))
        if chosen:
            schema["properties"] = {name: self.schema(depth - 1) for name in chosen}
        if self.chance(0.5):
            schema["required"] = sorted(self.random.sample(chosen, self.random.randint(0, len(chosen))))
        if self.chance(0.5):
            schema["additionalProperties"] = self.pick([False, {"type": "integer"}, self.schema(depth - 1)])
        if self.chance(0.2):
            schema["patternProperties"] = {self.pick(["^x", "y", "1$"]): self.schema(0)}
        if self.chance(0.15):
            schema["maxProperties"] = self.random.randint(0, 3)
        if self.chance(0.15):
            schema["minProperties"] = 1
        return schema

    def like(self, schema, depth=4):
        """A value that may well be valid."""
        if schema is True or not schema or depth == 0 or self.chance(0.1):
            return self.value(1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.pick(schema["enum"])
        for name in ("anyOf", "oneOf"):
            if name in schema:
                return self.like(self.pick(schema[name]), depth)
        if "allOf" in schema:
            parts = [self.like(part, depth) for part in schema["allOf"]]
            if all(isinstance(part, dict) for part in parts):
                return dict(sorted({name: value for part in parts for name, value in part.items()}.items()))
            return parts[0]
        kind = schema.get("type", "string" if "pattern" in schema else "number")
        if isinstance(kind, list):
            kind = self.pick(kind)
        if kind in ("integer", "number"):
            low = schema.get("minimum", schema.get("exclusiveMinimum", -5))
            number = low + self.random.randint(0, 8)
            return int(number) if kind == "integer" else number
        if kind == "string":
            if schema.get("format") == "date":
                return self.pick(["2024-02-29", "2023-02-29", "2021-12-31"])
            if schema.get("format") == "ipv4":
                return self.pick(["127.0.0.1", "1.2.3.256"])
            if schema.get("maxLength", 0) > 4:
                size = self.pick([schema.get("minLength", 0), schema["maxLength"]]) + self.pick([-1, 0, 0, 1])
                return "".join(self.pick("aab1é\"\t") for _ in range(size))
            return self.pick(WORDS)
        if kind == "array":
            prefix = [self.like(part, depth - 1) for part in schema.get("prefixItems", [])]
            if schema.get("maxItems", 0) > 4:
                item = self.like(schema.get("items", True), depth - 1)
                return prefix + [item] * (self.pick([schema["minItems"], schema["maxItems"]]) - len(prefix) + self.pick([-1, 0, 0, 1]))
            size = self.random.randint(schema.get("minItems", 0), schema.get("maxItems", 4) + 1) if \
                schema.get("minItems", 0) <= schema.get("maxItems", 4) else 1
            rest = [self.like(schema.get("items", True), depth - 1) for _ in range(max(0, size - len(prefix)))]
            return (prefix + rest)[:size]
        if kind == "object":
            result = {}
            for name, part in schema.get("properties", {}).items():
                if name in schema.get("required", []) or self.chance(0.5):
                    result[name] = self.like(part, depth - 1)
            if self.chance(0.4):
                extra = schema.get("additionalProperties", True)
                result[self.pick(["x1", "y", "z\""])] = self.like(extra, depth - 1) if extra is not False else 1
            return dict(sorted(result.items()))
        return {"boolean": True, "null": None}.get(kind)


def whole_floats(value):
    """Whether a number is written with a fraction but is whole, which grammars of integers leave out."""
    if isinstance(value, float):
        return value == int(value)
    if isinstance(value, list):
        return any(whole_floats(item) for item in value)
    return isinstance(value, dict) and any(whole_floats(item) for item in value.values())


def main():
    arguments = sys.argv[1:]
    write = None
    if "--write" in arguments:
        at = arguments.index("--write")
        write = open(arguments[at + 1], "w", encoding="utf-8")
        del arguments[at:at + 2]
    if not arguments:
        sys.exit(__doc__)
    try:
        import jsonschema
    except ImportError:
        print("skipped: PyPI's jsonschema is not installed")
        sys.exit(77)
    pairs = int(arguments[1]) if len(arguments) > 1 else 2000
    done = refused = valid = seed = 0
    while done < pairs:
        seed += 1
        maker = Maker(seed)
        schema = maker.schema()
        values = [maker.like(schema) for _ in range(VALUES_A_SCHEMA - 3)] + [maker.value() for _ in range(3)]
        values = [value for value in values if not whole_floats(value)]
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        expected = [validator.is_valid(value) for value in values]
        texts = [json.dumps(value, ensure_ascii=False) for value in values]
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(schema, file)
            file.flush()
            process = subprocess.run([arguments[0], "grammar", "check", file.name, "--json", "--", *texts],
                                     capture_output=True, text=True, check=False)
        answer = json.loads(process.stdout)
        if "error" in answer:
            refused += 1
            if any(expected) and "no value is valid" in answer["error"]:
                sys.exit(f"seed {seed}: {json.dumps(schema)} has valid values, but: {answer['error']}")
            continue
        accepted = [sentence["accepted"] for sentence in answer["sentences"]]
        for text, ours, theirs in zip(texts, accepted, expected):
            if ours != theirs:
                sys.exit(f"seed {seed}: {json.dumps(schema)}\n{text}: the grammar says {ours}, jsonschema {theirs}")
            done += 1
            valid += theirs
        if write:
            write.write(json.dumps({"schema": schema, "valid": [t for t, e in zip(texts, expected) if e],
                                    "invalid": [t for t, e in zip(texts, expected) if not e]}, ensure_ascii=False) + "\n")
    print(f"{done} pairs agree, {valid} of them valid; {refused} schemas were refused")


if __name__ == "__main__":
    main()

"""Vocabulary and token texts for the benchmark of grammars.

  inputs.py TIKTOKEN OUT [NAME...]

TIKTOKEN is a vocabulary as gpt-tokenizer (npm) has it: a token in base64 and its rank a line. OUT gets vocabulary.hex and
NAME.tokens for each grammar: 20 texts of its language, made up here with a fixed seed, cut into tokens by byte pairs.
"""
import base64
import json
import pathlib
import random
import re
import sys

WORDS = ("time year people way day man thing woman life child world school state family student group country problem hand part "
         "place case week company system program question work government number night point home water room mother area money "
         "story fact month lot right study book eye job word business issue side kind head house service friend father power "
         "hour game line end member law car city community name president team minute idea body information").split()
NUM_TEXTS = 20


def words(rng, least, most):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))


def json_value(rng, depth):
    kind = rng.randint(0, 7 if depth else 3)
    if kind < 2:
        return words(rng, 1, 6) + rng.choice(["", "", "\n", " \"so\""])
    if kind == 2:
        return rng.choice([rng.randint(-999, 99999), round(rng.uniform(-10, 1000), 2)])
    if kind == 3:
        return rng.choice([True, False, None])
    if kind < 6:
        return {words(rng, 1, 2): json_value(rng, depth - 1) for _ in range(rng.randint(1, 5))}
    return [json_value(rng, depth - 1) for _ in range(rng.randint(0, 5))]


def order(rng):
    one = {"id": rng.randint(1, 999999),
           "customer": {"name": words(rng, 2, 3).title(), "email": f"{rng.choice(WORDS)}.{rng.choice(WORDS)}@example.org"},
           "items": [{"article": f"{rng.choice('ABCD')}{rng.choice('XYZ')}-{rng.randint(1000, 9999)}", "title": words(rng, 2, 6),
                      "price": round(rng.uniform(1, 200), 2), "count": rng.randint(1, 99)} for _ in range(rng.randint(2, 6))],
           "ordered": f"20{rng.randint(10, 29)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}", "paid": rng.random() < 0.5}
    if rng.random() < 0.5:
        one["customer"]["language"] = rng.choice(["de", "en"])
        one["note"] = rng.choice([None, words(rng, 3, 12)])
    return one


def tree(rng, depth):
    node = {"name": words(rng, 1, 3), "value": rng.choice([None, rng.randint(0, 999), words(rng, 1, 4)])}
    if depth:
        node["children"] = [tree(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return node


def expression(rng, depth=2):
    kind = rng.randint(0, 4 if depth else 1)
    if kind == 0:
        return rng.choice(WORDS)
    if kind == 1:
        return str(rng.randint(0, 999))
    if kind == 2:
        return f"{rng.choice(WORDS)}({expression(rng, depth - 1)})"
    return f"{expression(rng, depth - 1)} {rng.choice(['+', '-', '*', '<'])} {expression(rng, depth - 1)}"


def program(rng):
    text = ""
    for _ in range(rng.randint(2, 4)):
        text += f"int {rng.choice(WORDS)}(int {rng.choice(WORDS)}, float {rng.choice(WORDS)}) {{\n"
        for _ in range(rng.randint(2, 6)):
            text += f"  {rng.choice(['int', 'float'])} {rng.choice(WORDS)} = {expression(rng)};\n"
        text += f"  while ({expression(rng)}) {{\n    {rng.choice(WORDS)} = {expression(rng)};\n  }}\n  return {expression(rng)};\n}}\n"
    return text


def sentence(rng):
    def part():
        return (f"{rng.choice(['Alice', 'the teacher', 'a friend of Bob', 'she'])} {rng.choice(['', 'often ', 'never '])}"
                f"{rng.choice(['reads', 'remembers', 'explains'])} {rng.choice(['the', 'another'])} "
                f"{rng.choice(['', 'old ', 'very good ', 'strange '])}{rng.choice(['book', 'letter', 'machine', 'story'])}")
    return " ".join(part() + (f", and {part()}" if rng.random() < 0.5 else "") + rng.choice(".!?") for _ in range(rng.randint(3, 9)))


def chess_move(rng):
    square = rng.choice("abcdefgh") + rng.choice("12345678")
    kind = rng.randint(0, 9)
    if kind == 0:
        return rng.choice(["O-O", "O-O-O"])
    if kind < 5:
        return rng.choice(["", "", rng.choice("abcdefgh") + "x"]) + square
    return rng.choice("NBRQK") + rng.choice(["", "", "", "x", "d", "1"]) + square + rng.choice(["", "", "", "+"])


def chess(rng):
    turns = " ".join(f"{turn}. {chess_move(rng)} {chess_move(rng)}" for turn in range(1, rng.randint(15, 45)))
    return f"{turns} {rng.choice(['1-0', '0-1', '1/2-1/2'])}"


TEXTS = {"json": lambda rng: json.dumps({words(rng, 1, 2): json_value(rng, 3) for _ in range(8)}), "order": lambda rng: json.dumps(order(rng)),
         "tree": lambda rng: json.dumps(tree(rng, 3)), "counted": lambda rng: json.dumps({"text": words(rng, 60, 120)}),
         "program": program, "chess": chess, "sentence": sentence}


def main():
    ranks = {}
    for line in open(sys.argv[1], encoding="ascii"):
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    out = pathlib.Path(sys.argv[2])
    tokens = [b""] * (max(ranks.values()) + 1)
    for token, rank in ranks.items():
        tokens[rank] = token
    (out / "vocabulary.hex").write_text("".join(token.hex() + "\n" for token in tokens))

    def encode(text):
        ids = []
        for piece in re.findall(r" ?[A-Za-z]+| ?[0-9]{1,3}| ?[^\sA-Za-z0-9]+|\s+", text):
            parts = [bytes([byte]) for byte in piece.encode()]
            while len(parts) > 1:
                rank, at = min((ranks.get(parts[i] + parts[i + 1], 1 << 30), i) for i in range(len(parts) - 1))
                if rank == 1 << 30:
                    break
                parts[at:at + 2] = [parts[at] + parts[at + 1]]
            ids += [ranks[part] for part in parts]
        return ids

    for name in sys.argv[3:] or TEXTS:
        rng = random.Random(name)
        with open(out / f"{name}.tokens", "w", encoding="ascii") as file:
            for _ in range(NUM_TEXTS):
                file.write(" ".join(map(str, encode(TEXTS[name](rng)))) + "\n")


if __name__ == "__main__":
    main()

"""Small random JSON Schemas and instances of few keys, so that the two meet."""

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]
KEYS = st.sampled_from(["a", "b", "ab", "n1"])
# Halves are exact in binary, so that two ways to divide give one answer.
NUMBERS = st.sampled_from([-1, 0, 1, 2, 3, 0.5, 1.0, 1.5, -2.5])
NAMES = st.lists(KEYS, max_size=2, unique=True)
COUNTS = st.integers(0, 3)
# Spelled alike, and read alike, in the two regular expression languages.
PATTERNS = st.sampled_from(["a", "^a", "b$", "^[ab]*$", "^n[0-9]", "a|b", "^.$"])
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
SCALARS = st.none() | st.booleans() | NUMBERS | st.sampled_from(["", "a", "b", "ab", "ba", "n1", "é"])
INSTANCES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def some_of(
    required: dict[str, Any], optional: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[Schema]:
    return st.fixed_dictionaries(required, optional=optional)


ASSERTIONS = st.one_of(
    some_of({}, {"type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True)}),
    some_of({}, {"enum": st.lists(INSTANCES, min_size=1, max_size=3), "const": INSTANCES}),
    some_of({}, {"minimum": NUMBERS, "maximum": NUMBERS, "multipleOf": st.sampled_from([1, 2, 0.5, 1.5])}),
    some_of({}, {"exclusiveMinimum": NUMBERS, "exclusiveMaximum": NUMBERS}),
    some_of({}, {"minLength": COUNTS, "maxLength": COUNTS, "pattern": PATTERNS}),
    some_of({}, {"minItems": COUNTS, "maxItems": COUNTS, "uniqueItems": st.booleans()}),
    some_of({}, {"minProperties": COUNTS, "maxProperties": COUNTS, "required": NAMES}),
    some_of({}, {"dependentRequired": st.dictionaries(KEYS, NAMES, max_size=2)}),
    some_of({}, {"format": st.just("date-time"), "default": INSTANCES}),
)
REFERENCES = st.just({"$ref": "#/$defs/defined"})


def applied(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Schema]:
    """Schemas that apply others."""
    several = st.lists(inner, min_size=1, max_size=2)
    by_key = st.dictionaries(KEYS, inner, max_size=2)
    by_pattern = st.dictionaries(PATTERNS, inner, max_size=2)
    return st.one_of(
        some_of({}, {"prefixItems": several, "items": inner, "unevaluatedItems": inner}),
        some_of(
            {"contains": inner}, {"minContains": COUNTS, "maxContains": COUNTS, "unevaluatedItems": inner}
        ),
        some_of({"properties": by_key}, {"patternProperties": by_pattern, "additionalProperties": inner}),
        some_of({}, {"propertyNames": inner, "dependentSchemas": by_key, "unevaluatedProperties": inner}),
        some_of({}, {"allOf": several, "anyOf": several, "unevaluatedProperties": inner}),
        some_of({}, {"oneOf": several, "not": inner}),
        some_of({"if": inner}, {"then": inner, "else": inner}),
    )


def schemas(leaves: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    """Schemas grown from `leaves`, each of which may stand beside what applies others."""

    def grown(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
        return st.builds(merged, applied(inner | st.booleans()), leaves)

    return st.recursive(leaves, grown, max_leaves=6)


def merged(applying: Schema, leaf: Schema) -> Schema:
    return {**applying, **leaf}

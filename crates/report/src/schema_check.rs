//! Checks a JSON document against a schema: the part of JSON Schema that truetps' own schemas use.

use serde_json::Value;

/// Where the document leaves the schema; empty where it does not.
pub(crate) fn violations(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Check { root: schema }.value(schema, document, String::new(), &mut found);
    found
}

struct Check<'a> {
    root: &'a Value,
}

impl Check<'_> {
    fn value(&self, schema: &Value, value: &Value, at: String, found: &mut Vec<String>) {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = self
                .root
                .pointer(reference.trim_start_matches('#'))
                .expect("a $ref points into the schema");
            return self.value(target, value, at, found);
        }
        if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
            let fits = choices.iter().any(|choice| {
                let mut inside = Vec::new();
                self.value(choice, value, at.clone(), &mut inside);
                inside.is_empty()
            });
            if !fits {
                found.push(format!("{at}: fits none of its forms"));
            }
            return;
        }
        if let Some(kind) = schema.get("type")
            && !has_type(kind, value)
        {
            let name = kind.as_str().map_or_else(|| kind.to_string(), str::to_owned);
            found.push(format!("{at}: not of type {name}"));
            return;
        }
        if let Some(known) = schema.get("enum").and_then(Value::as_array)
            && !known.contains(value)
        {
            found.push(format!("{at}: {value} is not one of the known values"));
        }
        self.object(schema, value, &at, found);
        if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
            for (index, item) in list.iter().enumerate() {
                self.value(items, item, format!("{at}/{index}"), found);
            }
        }
    }

    fn object(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let Some(object) = value.as_object() else { return };
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            if !object.contains_key(name.as_str().expect("a name")) {
                found.push(format!("{at}/{}: missing", name.as_str().expect("a name")));
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        for (name, inside) in object {
            let at = format!("{at}/{name}");
            match (properties.and_then(|known| known.get(name)), others) {
                (Some(known), _) => self.value(known, inside, at, found),
                (None, Some(Value::Bool(false))) => found.push(format!("{at}: not in the schema")),
                (None, Some(any)) if any.is_object() => self.value(any, inside, at, found),
                (None, _) => {}
            }
        }
    }
}

fn has_type(kind: &Value, value: &Value) -> bool {
    match kind {
        Value::Array(kinds) => kinds.iter().any(|one| has_type(one, value)),
        Value::String(kind) => match kind.as_str() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            "integer" => value.is_u64() || value.is_i64(),
            "number" => value.is_number(),
            other => panic!("a type that the check does not know: {other}"),
        },
        other => panic!("not a type: {other}"),
    }
}

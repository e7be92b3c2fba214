//! Settings in JSON: `mysqld-auto.cnf`, parameter groups of clouds, rows of a client.

use serde_json::{Deserializer, Map, Value};

use super::row::{DumpRow, NAMES, VALUES, has_column};

/// An object below this depth holds no setting.
const DEPTH_MAX: u32 = 12;

/// The kind of the document, and what it has.
pub(super) fn records(text: &str) -> Option<(&'static str, Vec<DumpRow>)> {
    // MySQL Shell prints one document for each row.
    let documents: Vec<Value> =
        Deserializer::from_str(text).into_iter().map_while(Result::ok).collect();
    let mut records = Vec::new();
    for document in &documents {
        collect(document, 0, &mut records);
    }
    let is_persisted = documents.iter().any(|document| document.get("Version").is_some());
    let kind = if is_persisted { "mysqld-auto.cnf" } else { "settings in JSON" };
    (!records.is_empty()).then_some((kind, records))
}

fn collect(value: &Value, depth: u32, records: &mut Vec<DumpRow>) {
    if depth > DEPTH_MAX {
        return;
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, depth + 1, records)),
        Value::Object(object) => {
            let record = record(object);
            if has_column(&record, &NAMES) && has_column(&record, &VALUES) {
                records.push(record);
                return;
            }
            for (name, value) in object {
                match value.get("Value").and_then(text_of) {
                    // SET PERSIST: the name is the key.
                    Some(text) => records
                        .push(vec![("name".to_owned(), name.clone()), ("value".to_owned(), text)]),
                    None => collect(value, depth + 1, records),
                }
            }
        }
        _ => {}
    }
}

fn record(object: &Map<String, Value>) -> DumpRow {
    object.iter().filter_map(|(name, value)| Some((name.to_lowercase(), text_of(value)?))).collect()
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_on) => Some(if *is_on { "ON" } else { "OFF" }.to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        let cell = |record: &DumpRow, columns: &[&str]| {
            record.iter().find(|(name, _)| columns.contains(&name.as_str())).unwrap().1.clone()
        };
        records(text)
            .unwrap()
            .1
            .iter()
            .map(|record| (cell(record, &NAMES), cell(record, &VALUES)))
            .collect()
    }

    /// In the forms of MySQL 8.0.15, of 8.0.29 and later, and of three clouds.
    #[test]
    fn documents() {
        let expect = [("sync_binlog".to_owned(), "7".to_owned())];
        for text in [
            r#"{"Version": 1, "mysql_server": {"mysql_server_static_options": {"sync_binlog": {"Value": "7", "Metadata": {"Timestamp": 1}}}}}"#,
            r#"{"Version": 2, "mysql_dynamic_variables": {"sync_binlog": {"Value": "7", "Metadata": {"Host": "h", "User": "u", "Timestamp": 1}}}}"#,
            r#"{"Parameters": [{"ParameterName": "sync_binlog", "ParameterValue": "7", "Source": "user", "IsModifiable": true},
                {"ParameterName": "autocommit", "Source": "engine-default"}], "Marker": "x"}"#,
            r#"{"settings": {"databaseFlags": [{"name": "sync_binlog", "value": "7"}], "tier": "db-1"}}"#,
            r#"[{"Variable_name": "sync_binlog", "Value": "7"}]"#,
            "{\n    \"Variable_name\": \"sync_binlog\",\n    \"Value\": \"7\"\n}\n1 row in set \
             (0.0020 sec)\n",
        ] {
            assert_eq!(found(text), expect, "{text}");
        }
        assert!(records(r#"{"a": {"b": [1, "x", null]}}"#).is_none() && records("{").is_none());
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(records(&deep).is_none());
    }
}

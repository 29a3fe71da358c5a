//! Merges the file and the environment into one document.

use toml::{Table, Value};

use crate::{ConfigError, secrets::SECRET_KEYS};

const PREFIX: &str = "SVC__";

/// Returns the tables of the file, overwritten by every `SVC__SECTION__KEY`. Values from the
/// environment stay text; a key of another type parses its text. Refuses a file that contains a
/// secret.
pub(crate) fn document(
    text: &str,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<Table, ConfigError> {
    let mut document: Table = text.parse().map_err(|error| syntax(text, &error))?;
    refuse_secrets(&document, "")?;
    for (name, value) in environment {
        let Some(path) = name.strip_prefix(PREFIX) else {
            continue;
        };
        if value.contains(char::REPLACEMENT_CHARACTER) {
            return Err(ConfigError::one(&name, "expected Unicode text"));
        }
        let keys: Vec<String> = path.split("__").map(str::to_ascii_lowercase).collect();
        overlay(&mut document, &keys, value).ok_or_else(|| {
            ConfigError::one(
                &name,
                "expected SVC__SECTION__KEY, naming a key and not a section",
            )
        })?;
    }
    Ok(document)
}

/// Returns the position and the reason of a syntax error. Does not repeat the line, because it may
/// hold a misplaced secret.
fn syntax(text: &str, error: &toml::de::Error) -> ConfigError {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count().saturating_add(1);
    ConfigError::Syntax {
        detail: format!("line {line}: {}", error.message()),
    }
}

fn overlay(table: &mut Table, keys: &[String], value: String) -> Option<()> {
    match keys {
        [] => None,
        [key] if key.is_empty() => None,
        [key] => {
            if table.get(key).is_some_and(Value::is_table) {
                return None;
            }
            table.insert(key.clone(), Value::String(value));
            Some(())
        }
        [section, rest @ ..] => {
            let inner = table
                .entry(section.clone())
                .or_insert_with(|| Value::Table(Table::new()));
            overlay(inner.as_table_mut()?, rest, value)
        }
    }
}

fn refuse_secrets(table: &Table, path: &str) -> Result<(), ConfigError> {
    for (key, value) in table {
        let full = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        if let Value::Table(inner) = value {
            refuse_secrets(inner, &full)?;
        } else if SECRET_KEYS.contains(&key.as_str()) {
            let variable = full.to_ascii_uppercase().replace('.', "__");
            let message = format!(
                "a secret does not belong in this file: set {PREFIX}{variable}, or {key}_file to the path of a file that holds it"
            );
            return Err(ConfigError::one(&full, &message));
        }
    }
    Ok(())
}

//! Every typed document is complete: a wallet that takes it literally (`eth_signTypedData_v4`)
//! signs for the domain that the document means. `types` names each member of the domain in the
//! order of EIP-712, each used type, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::documents::{WRITERS, documents, path, shown_in};

/// The members of a domain, in the order of EIP-712.
const DOMAIN: [(&str, &str); 5] = [
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
];

/// Says what a typed document lacks or has in excess.
fn require_complete(document: &Value) -> Result<(), String> {
    let members = object(document)?;
    let names: BTreeSet<&str> = members.keys().map(String::as_str).collect();
    if names != BTreeSet::from(["domain", "message", "primaryType", "types"]) {
        return Err(format!("the document has the members {names:?}"));
    }
    let (types, domain) = (object(&document["types"])?, object(&document["domain"])?);
    let domain_type: Vec<(&str, &str)> = declared(types, "EIP712Domain")?;
    let expected: Vec<(&str, &str)> = DOMAIN
        .into_iter()
        .filter(|(name, _)| domain.contains_key(*name))
        .collect();
    if domain_type != expected || domain.len() != expected.len() {
        return Err(format!("EIP712Domain is {domain_type:?} for {domain:?}"));
    }
    let primary = document["primaryType"].as_str().unwrap_or_default();
    let mut used = BTreeSet::from(["EIP712Domain".to_owned()]);
    require_value(types, primary, &document["message"], &mut used)?;
    let declared: BTreeSet<String> = types.keys().cloned().collect();
    if used != declared {
        return Err(format!("types has {declared:?}, used are {used:?}"));
    }
    Ok(())
}

/// Says where a value has other members than its type.
fn require_value(
    types: &Map<String, Value>,
    kind: &str,
    value: &Value,
    used: &mut BTreeSet<String>,
) -> Result<(), String> {
    if let Some(item) = kind.strip_suffix("[]") {
        let items = value.as_array().ok_or(format!("{value} is no {kind}"))?;
        return items
            .iter()
            .try_for_each(|value| require_value(types, item, value, used));
    }
    if !types.contains_key(kind) {
        return match value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(()),
            _ => Err(format!("{value} is no {kind}")),
        };
    }
    used.insert(kind.to_owned());
    let (members, value) = (declared(types, kind)?, object(value)?);
    if members.len() != value.len() {
        return Err(format!("{value:?} has other members than {members:?}"));
    }
    members.into_iter().try_for_each(|(name, kind)| {
        let value = value.get(name).ok_or(format!("{name} is missing"))?;
        require_value(types, kind, value, used)
    })
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or(format!("{value} is no object"))
}

/// The members of a struct type.
fn declared<'a>(
    types: &'a Map<String, Value>,
    name: &str,
) -> Result<Vec<(&'a str, &'a str)>, String> {
    let members = types.get(name).and_then(Value::as_array);
    let members = members.ok_or(format!("types has no {name}"))?;
    let text = |member: &'a Value, name: &str| member[name].as_str().ok_or("no text");
    members
        .iter()
        .map(|member| Ok((text(member, "name")?, text(member, "type")?)))
        .collect::<Result<_, &str>>()
        .map_err(str::to_owned)
}

#[test]
fn every_typed_document_is_complete() {
    for document in documents() {
        require_complete(&document.json)
            .unwrap_or_else(|fault| panic!("{}: {fault}\n{:#}", document.name, document.json));
    }
}

/// A document that is not complete in any of these ways is found.
#[test]
fn an_incomplete_document_is_found() {
    let changes: [fn(&mut Value); 8] = [
        |it| drop(it["types"].as_object_mut().unwrap().remove("EIP712Domain")),
        |it| drop(it["types"]["EIP712Domain"].as_array_mut().unwrap().pop()),
        |it| {
            it["types"]["EIP712Domain"]
                .as_array_mut()
                .unwrap()
                .reverse()
        },
        |it| it["types"]["EIP712Domain"][2]["type"] = "uint64".into(),
        |it| it["domain"]["salt"] = "0x00".into(),
        |it| it["types"]["Unused"] = Value::Array(Vec::new()),
        |it| it["message"]["more"] = 1.into(),
        |it| drop(it.as_object_mut().unwrap().remove("primaryType")),
    ];
    for document in documents() {
        for (index, change) in changes.iter().enumerate() {
            let mut json = document.json.clone();
            change(&mut json);
            // A document whose domain has a salt stays as it is by the fifth change.
            let is_changed = json != document.json && !(index == 4 && is_salted(&document.json));
            assert_eq!(
                require_complete(&json).is_err(),
                is_changed,
                "{} after the change {index}",
                document.name
            );
        }
    }
}

fn is_salted(document: &Value) -> bool {
    document["domain"].get("salt").is_some()
}

/// Documents in the samples of the pages are as complete as those that are handed out.
#[test]
fn the_documents_on_the_pages_are_complete() {
    let mut count = 0;
    for entry in fs::read_dir(path("docs")).unwrap() {
        let entry = entry.unwrap().path();
        let page = entry.file_name().unwrap().to_string_lossy().into_owned();
        if page.ends_with(".md") {
            for document in shown_in(&format!("docs/{page}")) {
                count += 1;
                require_complete(&document)
                    .unwrap_or_else(|fault| panic!("docs/{page}: {fault}\n{document:#}"));
            }
        }
    }
    assert!(count >= 2, "{count}");
}

/// A file that begins to write typed documents is found here: add its documents to `documents`.
#[test]
fn every_file_that_writes_typed_documents_is_known() {
    let mut found = Vec::new();
    for folder in ["bins", "crates"] {
        for member in fs::read_dir(path(folder)).unwrap() {
            let member = member.unwrap().file_name();
            let name = member.to_string_lossy();
            // The judges and the fuzz targets hand nothing out.
            if !matches!(name.as_ref(), "judges" | "fuzz") {
                search(&path(folder).join(&member).join("src"), &mut found);
            }
        }
    }
    found.sort();
    let known: Vec<String> = WRITERS.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(found, known);
}

fn search(folder: &Path, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let file = entry.unwrap().path();
        if file.is_dir() {
            search(&file, found);
            continue;
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        // Unit tests are at the bottom of a file, or in a file of their own.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_test = file.file_name().is_some_and(|name| name == "tests.rs");
        let writes = |line: &str| {
            let is_comment = line.trim_start().starts_with("//");
            !is_comment && (line.contains("\"primaryType\"") || line.contains("primary_type: Text"))
        };
        if !is_test && code.lines().any(writes) {
            let root = path("");
            let file = file.strip_prefix(&root).unwrap();
            found.push(file.to_string_lossy().trim_start_matches('/').to_owned());
        }
    }
}

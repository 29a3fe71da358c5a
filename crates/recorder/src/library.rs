//! The folder of the recordings. It has one folder for each host, with the answers and a
//! `manifest.json`.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::exchange::Exchange;

/// The recordings below one folder. Each host has a folder with a `manifest.json`.
#[derive(Debug)]
pub struct Library {
    folder: PathBuf,
    /// The name of each host's folder.
    hosts: BTreeMap<String, String>,
}

/// Why a recording cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// A file or folder cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A manifest is not valid.
    #[error("{path} is not a manifest: {reason}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl Library {
    /// Opens the recordings below `folder`, which must exist.
    ///
    /// # Errors
    ///
    /// A [`LibraryError`] that names the unreadable file.
    pub fn open(folder: &Path) -> Result<Self, LibraryError> {
        let mut library = Self {
            folder: folder.to_owned(),
            hosts: BTreeMap::new(),
        };
        for entry in fs::read_dir(folder).map_err(at(folder))? {
            let path = entry.map_err(at(folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let (true, Some(name)) = (path.join("manifest.json").is_file(), name) else {
                continue;
            };
            for listed in library.listed(name)? {
                if let Some(host) = listed.pointer("/request/host").and_then(Value::as_str) {
                    let folder = name.to_owned();
                    library.hosts.entry(host.to_owned()).or_insert(folder);
                }
            }
        }
        Ok(library)
    }

    /// Stores an exchange. It replaces a stored exchange with the same request. Returns the file's
    /// path below the folder.
    pub(crate) fn keep(&mut self, exchange: &Exchange, date: &str) -> Result<String, LibraryError> {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let new = || exchange.host.chars().map(plain).collect();
        let name = self.hosts.entry(exchange.host.clone()).or_insert_with(new);
        let name = name.clone();
        let folder = self.folder.join(&name);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let mut listed = self.listed(&name)?;
        let request = exchange.matcher();
        let plain_entry = |entry: &Value| entry.get("scenario").is_none();
        let known = listed
            .iter()
            .position(|entry| plain_entry(entry) && same_request(entry.get("request"), &request));
        let file = known
            .and_then(|index| listed.get(index)?.get("file")?.as_str().map(str::to_owned))
            .unwrap_or_else(|| exchange.file_name());
        let mut response =
            json!({ "status": exchange.status, "content_type": exchange.content_type });
        if let (Some(after), Some(members)) = (&exchange.retry_after, response.as_object_mut()) {
            members.insert("headers".to_owned(), json!({ "retry-after": after }));
        }
        let entry = json!({
            "file": file,
            "request": request,
            "response": response,
            "origin": "captured",
            "source": format!("{}{}", exchange.host, exchange.path),
            "date": date,
            "confidence": "high",
        });
        match known.and_then(|index| listed.get_mut(index)) {
            Some(place) => *place = entry,
            None => listed.push(entry),
        }
        write(&folder.join(&file), &exchange.body)?;
        let manifest = serde_json::to_string_pretty(&json!({ "fixtures": listed }));
        let manifest = manifest.unwrap_or_default() + "\n";
        write(&folder.join("manifest.json"), &manifest)?;
        Ok(format!("{name}/{file}"))
    }

    fn listed(&self, name: &str) -> Result<Vec<Value>, LibraryError> {
        let path = self.folder.join(name).join("manifest.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(at(&path)(error)),
        };
        let manifest = |reason: String| LibraryError::Manifest {
            path: path.clone(),
            reason,
        };
        let mut read: Value =
            serde_json::from_str(&text).map_err(|error| manifest(error.to_string()))?;
        match read.get_mut("fixtures").map(Value::take) {
            Some(Value::Array(listed)) => Ok(listed),
            _ => Err(manifest("expected a list under fixtures".to_owned())),
        }
    }
}

/// Whether replay treats two requests alike. An empty query equals no query.
fn same_request(known: Option<&Value>, request: &Value) -> bool {
    let part = |value: &Value, key: &str| {
        let found = value.get(key).cloned().unwrap_or(Value::Null);
        if found == json!({}) {
            Value::Null
        } else {
            found
        }
    };
    known.is_some_and(|known| {
        ["method", "host", "path", "query", "body"]
            .iter()
            .all(|key| part(known, key) == part(request, key))
    })
}

/// Writes a file in one step, so that a reader never sees half of it.
fn write(path: &Path, text: &str) -> Result<(), LibraryError> {
    let fresh = path.with_extension("part");
    fs::write(&fresh, text).map_err(at(&fresh))?;
    fs::rename(&fresh, path).map_err(at(path))
}

fn at(path: &Path) -> impl Fn(io::Error) -> LibraryError {
    let path = path.to_owned();
    move |source| LibraryError::Io {
        path: path.clone(),
        source,
    }
}

//! The output of `upstreams probe`, and the recording of the answers that it got. The probe itself
//! is in `data-sources`.

use std::path::PathBuf;

use bytes::Bytes;
use clap::{Args, Subcommand};
use data_sources::probe::{Exchange, Found, document, exit_code, table};
use http::HeaderMap;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded;

use crate::{
    exchange,
    library::{Library, LibraryError},
};

/// Shorter secrets are not searched for in answers, because any text may contain them.
const SHORTEST_SECRET: usize = 6;

/// The commands about the upstreams of a configuration.
#[derive(Debug, Subcommand)]
pub enum UpstreamsCommand {
    /// Ask each upstream one harmless question for each endpoint that is used, and print its
    /// state: reachable, key taken, answer read, age of the data, quota left, what it serves. A
    /// change is named by its JSON path. Exits 2 when something contradicts, 1 when something
    /// could not be reached. Models are not asked, because each question costs money.
    Probe(ProbeArguments),
}

/// Arguments of `upstreams probe`.
#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// The TOML file.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// One JSON document instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Keep each answer below this folder, in the form of the recordings, without keys.
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
}

/// The output of a probe, and the exit code of the process.
#[derive(Debug)]
pub struct Printed {
    /// The table or the JSON document.
    pub text: String,
    /// A sentence about the kept and the omitted answers. `None` without `--record`.
    pub kept: Option<String>,
    /// 2 when a source contradicts its known form, 1 when a source was not reached, otherwise 0.
    pub exit_code: u8,
}

impl ProbeArguments {
    /// Renders the result. With `--record` it also stores the answers.
    ///
    /// # Errors
    ///
    /// A [`LibraryError`] when the folder cannot be written.
    pub fn print(
        &self,
        found: &Found,
        secrets: &[SecretString],
        now: Timestamp,
    ) -> Result<Printed, LibraryError> {
        let at = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let text = match self.json {
            true => format!("{:#}", document(&found.rows, &at)),
            false => table(&found.rows),
        };
        let kept = match &self.record {
            None => None,
            Some(folder) => Some(keep(folder, found, secrets, now)?),
        };
        Ok(Printed {
            text,
            kept,
            exit_code: exit_code(&found.rows),
        })
    }
}

/// Stores every answer that contains no secret.
fn keep(
    folder: &std::path::Path,
    found: &Found,
    secrets: &[SecretString],
    now: Timestamp,
) -> Result<String, LibraryError> {
    std::fs::create_dir_all(folder).map_err(|source| LibraryError::Io {
        path: folder.to_owned(),
        source,
    })?;
    let mut library = Library::open(folder)?;
    let date = now.strftime("%Y-%m-%d").to_string();
    let (mut kept, mut left_out) = (0_usize, Vec::new());
    for result in &found.results {
        for exchange in &result.exchanges {
            let Some(recorded) = recorded(&result.upstream, exchange) else {
                continue;
            };
            let shown = format!(
                "{}{}{}",
                recorded.matcher(),
                recorded.file_name(),
                recorded.body
            );
            let tells = |secret: &SecretString| {
                let secret = secret.expose_secret().trim();
                secret.len() >= SHORTEST_SECRET && shown.contains(secret)
            };
            if secrets.iter().any(tells) || recorded.repeats_a_key() {
                left_out.push(exchange.source);
                continue;
            }
            library.keep(&recorded, &date)?;
            kept = kept.saturating_add(1);
        }
    }
    let mut said = format!("{kept} answers kept in {}", folder.display());
    if !left_out.is_empty() {
        said.push_str(&format!(
            "; left out because they hold a key: {}",
            left_out.join(", ")
        ));
    }
    Ok(said)
}

/// Converts an exchange to the form of the recordings. The address of a node may be a secret, so
/// the node's chain and its position replace the host.
fn recorded(upstream: &str, exchange: &Exchange) -> Option<exchange::Exchange> {
    let reply = exchange.reply.as_ref()?;
    let (host, base) = match &exchange.base {
        Some((host, path)) => (host.clone(), path.clone()),
        None => (upstream.replace('#', "-"), String::new()),
    };
    let asked = exchange.path_and_query.split_once('?');
    let (path, query) = asked.unwrap_or((&exchange.path_and_query, ""));
    let path = match format!("{base}{path}") {
        path if path.is_empty() => "/".to_owned(),
        path => path,
    };
    Some(exchange::Exchange {
        method: if exchange.sent.is_some() {
            "POST"
        } else {
            "GET"
        }
        .to_owned(),
        host,
        path,
        query: form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect(),
        sent_headers: HeaderMap::new(),
        sent: Bytes::from(exchange.sent.clone().unwrap_or_default()),
        status: reply.status,
        content_type: reply.content_type.clone(),
        retry_after: None,
        body: String::from_utf8_lossy(&reply.body).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use data_sources::probe::{Answered, ProbeResult};

    use super::*;

    fn result(path_and_query: &str, body: &str) -> ProbeResult {
        ProbeResult {
            upstream: "fred".to_owned(),
            sources: &["fred.series"],
            answer: None,
            exchanges: vec![Exchange {
                source: "fred.series",
                base: Some(("api.stlouisfed.org".to_owned(), String::new())),
                path_and_query: path_and_query.to_owned(),
                sent: None,
                keyed: true,
                reply: Some(Answered {
                    status: 200,
                    content_type: "application/json".to_owned(),
                    body: body.as_bytes().to_vec(),
                }),
                fault: None,
                asked: true,
            }],
        }
    }

    #[test]
    fn keys_are_in_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = [SecretString::from("5ec2e7-key".to_owned())];
        let found = Found {
            rows: Vec::new(),
            results: vec![
                result("/fred/series?id=DGS10&api_key=5ec2e7-key", r#"{"a":1}"#),
                result("/fred/echo?id=1", r#"{"you":"5ec2e7-key"}"#),
                result("/fred/5ec2e7-key/path", r#"{"a":2}"#),
            ],
        };
        let said = keep(folder.path(), &found, &secrets, Timestamp::UNIX_EPOCH).unwrap();
        assert!(said.starts_with("1 answers kept in "), "{said}");
        assert!(
            said.ends_with("hold a key: fred.series, fred.series"),
            "{said}"
        );
        let mut files = 0;
        for entry in std::fs::read_dir(folder.path().join("api_stlouisfed_org")).unwrap() {
            let path = entry.unwrap().path();
            assert!(!path.display().to_string().contains("5ec2e7"));
            assert!(!std::fs::read_to_string(path).unwrap().contains("5ec2e7"));
            files += 1;
        }
        assert_eq!(files, 2, "the answer and the manifest");
    }
}

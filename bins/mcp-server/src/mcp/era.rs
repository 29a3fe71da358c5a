//! Determines the revision of a message, and checks that its headers and `_meta` agree with it. It
//! judges one message by itself, because there are no sessions.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::rpc::{Fault, Member, Members, Message, string};

/// The revision that carries everything in every request.
pub(crate) const MODERN: &str = "2026-07-28";
/// The revisions with a handshake, newest first.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", BATCHED, "2024-11-05"];
/// The revision that has batches. Its clients send no `MCP-Protocol-Version`.
pub(crate) const BATCHED: &str = "2025-03-26";
/// Every supported revision, as `server/discover` and version errors list them.
pub(crate) const SUPPORTED: [&str; 5] = [MODERN, LEGACY[0], LEGACY[1], LEGACY[2], LEGACY[3]];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";

/// The semantics of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28.
    Modern,
    /// A revision with a handshake. A message that names no revision gets the common part of these
    /// revisions, without a handshake.
    Legacy,
}

/// The transport's headers of a message. A pipe has none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Declared<'a> {
    /// `MCP-Protocol-Version`.
    pub(crate) version: Field<'a>,
    /// `Mcp-Method`.
    pub(crate) method: Field<'a>,
    /// `Mcp-Name`.
    pub(crate) name: Field<'a>,
    /// The address that distinguishes callers.
    pub(crate) client: Option<IpAddr>,
}

/// One header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    /// The header is absent.
    #[default]
    Absent,
    /// The header occurs once; its bytes need not be text.
    Once(&'a [u8]),
    /// The header occurs more than once.
    Repeated,
}

impl<'a> Field<'a> {
    /// The value as visible ASCII.
    fn text(self, header: &str) -> Result<Option<&'a str>, Fault> {
        match self {
            Self::Absent => Ok(None),
            Self::Repeated => Err(Fault::header_mismatch(format!("{header} is sent twice"))),
            Self::Once(bytes) => {
                let text = std::str::from_utf8(bytes).ok().filter(|text| {
                    let mut characters = text.chars();
                    characters.all(|c| matches!(c, ' '..='~' | '\t'))
                });
                let refuse = || {
                    Fault::header_mismatch(format!("{header} has characters that are not ASCII"))
                };
                text.map(|text| Some(text.trim_matches([' ', '\t'])))
                    .ok_or_else(refuse)
            }
        }
    }
}

/// Decides the era of a message, and refuses a message whose parts disagree.
///
/// # Errors
/// The fault, always with HTTP 400.
pub(crate) fn judge(message: &Message<'_>, declared: Option<&Declared<'_>>) -> Result<Era, Fault> {
    let header = declared.map_or(Ok(None), |declared| {
        declared.version.text("MCP-Protocol-Version")
    })?;
    let meta = message.meta.as_ref();
    let named = match meta.and_then(|meta| meta.find(VERSION)) {
        Some(value) => Some(string(value).ok_or_else(|| {
            Fault::invalid_meta(format!("params._meta: expected {VERSION} to be a string"))
        })?),
        None => None,
    };
    let named = named.as_deref();
    if let (Some(header), Some(named)) = (header, named)
        && header != named
    {
        return Err(Fault::header_mismatch(format_args!(
            "MCP-Protocol-Version is {header:?}, params._meta says {named:?}"
        )));
    }
    let version = named.or(header);
    if let Some(version) = version
        && !SUPPORTED.contains(&version)
    {
        return Err(Fault::unsupported_version(version, &SUPPORTED));
    }
    if version != Some(MODERN) {
        return Ok(Era::Legacy);
    }
    if let Some(declared) = declared {
        // The protocol requires no headers for a notification, but present headers must agree with
        // it.
        agree(message, declared, message.id.is_some(), header)?;
    }
    if message.id.is_some() {
        complete(meta)?;
    }
    Ok(Era::Modern)
}

/// Checks that a request may be a batch: its revision is the one that has batches, or is not named.
///
/// # Errors
/// The fault, always with HTTP 400.
pub(crate) fn judge_batch(declared: Option<&Declared<'_>>) -> Result<(), Fault> {
    let header = declared.map_or(Ok(None), |declared| {
        declared.version.text("MCP-Protocol-Version")
    })?;
    match header {
        None | Some(BATCHED) => Ok(()),
        Some(version) if !SUPPORTED.contains(&version) => {
            Err(Fault::unsupported_version(version, &SUPPORTED))
        }
        Some(version) => Err(Fault::invalid_request(format!(
            "revision {version} has no batches: send one message per request"
        ))),
    }
}

/// Checks that the headers agree with the body.
fn agree(
    message: &Message<'_>,
    declared: &Declared<'_>,
    required: bool,
    version: Option<&str>,
) -> Result<(), Fault> {
    if version.is_none() && required {
        return Err(missing("MCP-Protocol-Version"));
    }
    match declared.method.text("Mcp-Method")? {
        None if required => return Err(missing("Mcp-Method")),
        Some(method) if method != message.method => {
            return Err(Fault::header_mismatch(format_args!(
                "Mcp-Method is {method:?}, the body's method is {:?}",
                shortened(&message.method)
            )));
        }
        _ => {}
    }
    let source = match message.method.as_ref() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    let header = declared.name.text("Mcp-Name")?;
    // The method itself refuses a body without a name.
    let Some(name) = message.params.find(source).and_then(string) else {
        return Ok(());
    };
    let header = header.ok_or_else(|| missing("Mcp-Name"))?;
    if !names(header, &name)? {
        return Err(Fault::header_mismatch(format_args!(
            "Mcp-Name is {header:?}, params.{source} is {:?}",
            shortened(&name)
        )));
    }
    Ok(())
}

/// Whether a header's value, plain or as `=?base64?…?=`, is the name.
fn names(header: &str, name: &str) -> Result<bool, Fault> {
    let encoded = header
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        None => Ok(header == name),
        Some(encoded) => {
            let decoded = STANDARD
                .decode(encoded)
                .map_err(|_| Fault::header_mismatch("Mcp-Name is not base64 between its marks"))?;
            Ok(decoded == name.as_bytes())
        }
    }
}

/// Checks that `_meta` has the members that every request carries.
fn complete(meta: Option<&Members<'_>>) -> Result<(), Fault> {
    let meta = meta.ok_or_else(|| {
        Fault::invalid_meta(format!(
            "params._meta is missing: a request of {MODERN} carries {VERSION} and {CAPABILITIES}"
        ))
    })?;
    if meta.find(VERSION).is_none() {
        return Err(Fault::invalid_meta(format!(
            "params._meta: {VERSION} is missing"
        )));
    }
    let is_object = |value: Member<'_>| value.get().starts_with('{');
    match meta.find(CAPABILITIES) {
        None => Err(Fault::invalid_meta(format!(
            "params._meta: {CAPABILITIES} is missing"
        ))),
        Some(value) if !is_object(value) => Err(Fault::invalid_meta(format!(
            "params._meta: expected {CAPABILITIES} to be an object"
        ))),
        Some(_) => match meta.find(CLIENT) {
            Some(value) if !is_object(value) => Err(Fault::invalid_meta(format!(
                "params._meta: expected {CLIENT} to be an object"
            ))),
            _ => Ok(()),
        },
    }
}

fn missing(header: &str) -> Fault {
    Fault::header_mismatch(format!("{header} is missing"))
}

fn shortened(text: &str) -> String {
    text.chars().take(128).collect()
}

//! `GET /v2/messages/{domain}?transactionHash=…`: the message of a burn, and its attestation.
//!
//! The message in the burn's log is not the one that is attested: the service gives it its nonce.
//! This module checks the form only; the contract on the destination chain judges the signatures.

use alloy_primitives::{B256, Bytes};
use plan_builder::ports::PortError;

use super::{Circle, MESSAGES, is_own, refused};
use crate::{error::SourceErrorKind, json::Json};

/// The bytes of a message that hold its source domain, after its version.
const SOURCE_DOMAIN: std::ops::Range<usize> = 4..8;
/// Bytes of one signature. An attestation is one or more signatures.
const SIGNATURE_BYTES: usize = 65;

/// A message and the signatures over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttestedMessage {
    /// The message.
    pub message: Bytes,
    /// The signatures.
    pub attestation: Bytes,
}

impl Circle {
    /// The attested message of a transaction that burns once; `None` while the burn is not indexed,
    /// or not final enough.
    ///
    /// # Errors
    ///
    /// A [`PortError`] when the service does not answer, limits our requests, or answers with
    /// anything else than one message from the domain.
    pub async fn attestation(
        &self,
        source_domain: u32,
        transaction: B256,
    ) -> Result<Option<AttestedMessage>, PortError> {
        let path = format!("/v2/messages/{source_domain}?transactionHash={transaction}");
        let ask = self.source.get(MESSAGES, &path).accepts_any();
        self.source
            .ask_port(ask, |reply| {
                // A burn that is not indexed yet is unknown: the usual case right after a burn.
                if reply.status.as_u16() == 404 && is_own(reply) {
                    return Ok(None);
                }
                let subject = format!("messages of {transaction}");
                refused(reply, &subject, None).map_or(Ok(()), Err)?;
                Ok(read(&Json::document(&reply.body)?, source_domain)?)
            })
            .await
    }
}

fn read(
    document: &Json<'_>,
    source_domain: u32,
) -> Result<Option<AttestedMessage>, SourceErrorKind> {
    let messages = document.member("messages")?;
    let rows = messages.elements()?;
    let row = match rows.as_slice() {
        [] => return Ok(None),
        [row] => row,
        _ => return Err(messages.malformed("one message for a burn")),
    };
    let status = row.member("status")?;
    match status.text()?.as_str() {
        "complete" => {}
        "pending_confirmations" => return Ok(None),
        _ => return Err(status.malformed("complete or pending_confirmations")),
    }
    let written = row.member("message")?;
    let message = written.bytes()?;
    if message.get(SOURCE_DOMAIN) != Some(source_domain.to_be_bytes().as_slice()) {
        return Err(written.malformed("a message from the domain that was asked for"));
    }
    let signed = row.member("attestation")?;
    let attestation = signed.bytes()?;
    if attestation.is_empty() || attestation.len() % SIGNATURE_BYTES != 0 {
        return Err(signed.malformed("signatures of 65 bytes"));
    }
    Ok(Some(AttestedMessage {
        message,
        attestation,
    }))
}

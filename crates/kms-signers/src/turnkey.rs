//! A signer whose key is at Turnkey. It asks for the activity `ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2`
//! over a hash, which Turnkey does not hash again.

use std::time::Duration;

use alloy_primitives::{Address, Bytes};
use alloy_signer::Signer as _;
use alloy_signer_turnkey::{
    TurnkeyClient, TurnkeyClientError, TurnkeyP256ApiKey, TurnkeySigner, TurnkeySignerError,
};
use secrecy::{ExposeSecret, SecretString};
use tx_sender::{SignFuture, TransactionSigner, Unsigned};

use crate::fault::{ConnectError, Fault};

/// The time limit of one answer. It is shorter than the time that a sender waits for a signature.
const PATIENCE: Duration = Duration::from_secs(9);

/// An account of a Turnkey organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnkeyKey {
    /// The organisation's id.
    pub organization_id: String,
    /// The account. Only the first signature shows whether the organisation has its key.
    pub account: Address,
}

/// A key in Turnkey.
pub struct Turnkey {
    signer: TurnkeySigner,
}

impl Turnkey {
    /// Makes a signer with the account's key. `api_key` is the private key on P-256 that stamps
    /// requests, as hexadecimal digits. Sends no request yet.
    ///
    /// # Errors
    /// [`ConnectError::ApiKey`].
    pub fn connect(api_key: &SecretString, key: TurnkeyKey) -> Result<Self, ConnectError> {
        crate::choose_tls();
        let api_key = api_key.expose_secret().trim();
        // The client library panics at a key of another length.
        if api_key.len() != 64 {
            return Err(ConnectError::ApiKey);
        }
        let api_key = TurnkeyP256ApiKey::from_strings(api_key, None);
        let api_key = api_key.map_err(|_| ConnectError::ApiKey)?;
        let client = TurnkeyClient::builder()
            .api_key(api_key)
            .timeout(PATIENCE)
            .build();
        let client = client.map_err(|_| ConnectError::Unavailable)?;
        Ok(Self::over(client, key))
    }

    /// Makes a signer through a client that the caller has set up.
    #[must_use]
    pub fn over(client: TurnkeyClient, key: TurnkeyKey) -> Self {
        let signer = TurnkeySigner::new(client, key.organization_id, key.account, None);
        Self { signer }
    }
}

impl TransactionSigner for Turnkey {
    fn account(&self) -> Address {
        self.signer.address()
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async move {
            let signature = self.signer.sign_hash(&unsigned.signature_hash()).await;
            let signature = signature.map_err(|error| fault(&error))?;
            Ok(unsigned.with_signature(signature.normalized_s()))
        })
    }
}

fn fault(error: &alloy_signer::Error) -> Fault {
    let alloy_signer::Error::Other(error) = error else {
        return Fault::Malformed;
    };
    match error.downcast_ref() {
        Some(TurnkeySignerError::TurnkeyClient(error)) => of_client(error),
        _ => Fault::Malformed,
    }
}

/// Returns only codes, because the message names organisations, users and policies.
fn of_client(error: &TurnkeyClientError) -> Fault {
    use TurnkeyClientError as E;

    match error {
        E::Http(_) | E::ReqwestBuilder(_) | E::ExceededRetries(_) => Fault::Unavailable,
        E::UnexpectedHttpStatus(429 | 500.., _) => Fault::Unavailable,
        // The answer is the page of a gateway and not the service's.
        E::MissingContentTypeHeader => Fault::Unavailable,
        E::UnexpectedHttpStatus(status, _) => Fault::Refused(format!("HTTP {status}")),
        E::ActivityRequiresApproval(_) => Fault::Refused("ACTIVITY_STATUS_CONSENSUS_NEEDED".into()),
        E::ActivityFailed(_) => Fault::Refused("ACTIVITY_STATUS_FAILED".into()),
        E::UnexpectedActivityStatus(status) => Fault::Refused(status.chars().take(80).collect()),
        E::StamperError(_) | E::BuilderMissingApiKey => Fault::Refused("no API key".into()),
        _ => Fault::Malformed,
    }
}

/// Leaves out the organisation.
impl std::fmt::Debug for Turnkey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turnkey")
            .field("account", &self.account())
            .finish_non_exhaustive()
    }
}

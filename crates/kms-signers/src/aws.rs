//! A signer whose key is in AWS Key Management Service. It asks for `Sign` with `ECDSA_SHA_256`
//! over a digest, by a key of the spec `ECC_SECG_P256K1`.

use std::time::Duration;

use alloy_primitives::{Address, Bytes};
use alloy_signer::Signer as _;
use alloy_signer::utils::public_key_to_address;
use alloy_signer_aws::aws_config::{self, BehaviorVersion, timeout::TimeoutConfig};
use alloy_signer_aws::aws_sdk_kms::Client;
use alloy_signer_aws::aws_sdk_kms::error::{ProvideErrorMetadata, SdkError};
use alloy_signer_aws::{AwsSigner, AwsSignerError};
use tx_sender::{SignFuture, TransactionSigner, Unsigned};

use crate::fault::{ConnectError, Fault};
use crate::parity;

/// The time limit of one attempt. The client makes up to three.
const ATTEMPT: Duration = Duration::from_secs(3);

/// The time limit of all attempts. It is shorter than the time that a sender waits for a signature.
const OPERATION: Duration = Duration::from_secs(9);

/// Parts of the codes with which the service refuses for a time.
const PASSING: [&str; 4] = [
    "Throttling",
    "LimitExceeded",
    "TooManyRequests",
    "Unavailable",
];

/// A key in AWS KMS.
#[derive(Clone)]
pub struct AwsKms {
    signer: AwsSigner,
}

impl AwsKms {
    /// Connects to the key with this id, ARN or alias. The region and the credentials come from the
    /// environment (variables, profile, web identity, container, instance). The key needs the
    /// permissions `kms:GetPublicKey` and `kms:Sign`.
    ///
    /// Prefer an id or an ARN. An alias can be pointed to another key, and the signer then refuses
    /// that key's signatures.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(key_id: &str) -> Result<Self, ConnectError> {
        crate::choose_tls();
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(ATTEMPT)
            .operation_timeout(OPERATION)
            .build();
        let config = aws_config::defaults(BehaviorVersion::latest()).timeout_config(timeouts);
        Self::over(Client::new(&config.load().await), key_id).await
    }

    /// Connects to the key through a client that the caller has set up.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn over(client: Client, key_id: &str) -> Result<Self, ConnectError> {
        let signer = AwsSigner::new(client, key_id.to_owned(), None).await;
        let signer = signer.map_err(|error| fault(&error))?;
        Ok(Self { signer })
    }

    /// Asks the service for the key's present public key, and returns its address.
    async fn account_now(&self) -> Result<Address, Fault> {
        let key = self.signer.get_pubkey().await;
        key.map(|key| public_key_to_address(&key))
            .map_err(|error| fault(&error))
    }
}

impl TransactionSigner for AwsKms {
    fn account(&self) -> Address {
        self.signer.address()
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async move {
            let hash = unsigned.signature_hash();
            let signature = self.signer.sign_digest(&hash).await;
            let signature = signature.map_err(|error| fault(&error))?;
            let now = self.account_now();
            let signature = parity::of_account(signature, &hash, self.account(), now).await?;
            Ok(unsigned.with_signature(signature))
        })
    }
}

fn fault(error: &AwsSignerError) -> Fault {
    match error {
        AwsSignerError::Sign(error) => of_service(error),
        AwsSignerError::GetPublicKey(error) => of_service(error),
        _ => Fault::Malformed,
    }
}

fn of_service<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Fault {
    match error {
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status();
            let code = answer.err().code();
            if status.is_success() {
                return Fault::Malformed;
            }
            let passes = |code: &str| PASSING.iter().any(|part| code.contains(part));
            if status.is_server_error() || status.as_u16() == 429 || code.is_some_and(passes) {
                return Fault::Unavailable;
            }
            let unnamed = || format!("HTTP {}", status.as_u16());
            Fault::Refused(code.map_or_else(unnamed, ToOwned::to_owned))
        }
        SdkError::ResponseError(_) => Fault::Malformed,
        _ => Fault::Unavailable,
    }
}

/// Leaves out the name of the key.
impl std::fmt::Debug for AwsKms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AwsKms")
            .field("account", &self.account())
            .finish_non_exhaustive()
    }
}

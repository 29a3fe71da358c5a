//! A signer whose key is in Google Cloud Key Management Service. It asks for `AsymmetricSign` over
//! a digest, by a key of the algorithm `EC_SIGN_SECP256K1_SHA256`.

use std::time::Duration;

use alloy_primitives::{Address, Bytes};
use alloy_signer::Signer as _;
use alloy_signer_gcp::gcloud_sdk::google::cloud::kms::v1::key_management_service_client::KeyManagementServiceClient;
use alloy_signer_gcp::gcloud_sdk::tonic::{Code, Status};
use alloy_signer_gcp::gcloud_sdk::{GoogleApi, GoogleAuthMiddleware};
use alloy_signer_gcp::{GcpKeyRingRef, GcpSigner, GcpSignerError, KeySpecifier};
use tx_sender::{SignFuture, TransactionSigner, Unsigned};

use crate::fault::{ConnectError, Fault};
use crate::parity;

/// The address of the service.
const SERVICE: &str = "https://cloudkms.googleapis.com";

/// The time limit for the connection, the credentials and the public key. The client library has no
/// limit of its own.
const PATIENCE: Duration = Duration::from_secs(30);

/// The client of the service, from the client library.
type Client = GoogleApi<KeyManagementServiceClient<GoogleAuthMiddleware>>;

/// The name of one version of a key. The key of a version never changes, and a rotation makes
/// another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcpKey {
    /// The project.
    pub project: String,
    /// The location, for example `global`.
    pub location: String,
    /// The key ring.
    pub key_ring: String,
    /// The key.
    pub key: String,
    /// The version, from 1.
    pub version: u64,
}

impl GcpKey {
    fn specifier(&self) -> KeySpecifier {
        let ring = GcpKeyRingRef::new(&self.project, &self.location, &self.key_ring);
        KeySpecifier::new(ring, &self.key, self.version)
    }
}

/// A key in Google Cloud KMS.
#[derive(Clone)]
pub struct GcpKms {
    client: Client,
    key: GcpKey,
    signer: GcpSigner,
}

impl GcpKms {
    /// Connects to the key with the default credentials (`GOOGLE_APPLICATION_CREDENTIALS`, the file
    /// of the command line tool, the metadata server). The credentials need the permissions
    /// `cloudkms.cryptoKeyVersions.viewPublicKey` and `cloudkms.cryptoKeyVersions.useToSign`.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(key: GcpKey) -> Result<Self, ConnectError> {
        crate::choose_tls();
        let connected = async {
            let client = GoogleApi::from_function(KeyManagementServiceClient::new, SERVICE, None);
            let client = client.await.map_err(|_| ConnectError::Unavailable)?;
            Self::over(client, key).await
        };
        let connected = tokio::time::timeout(PATIENCE, connected).await;
        connected.unwrap_or(Err(ConnectError::Unavailable))
    }

    /// Connects to the key through a client that the caller has set up.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn over(client: Client, key: GcpKey) -> Result<Self, ConnectError> {
        let signer = GcpSigner::new(client.clone(), key.specifier(), None).await;
        let signer = signer.map_err(|error| fault(&error))?;
        Ok(Self {
            client,
            key,
            signer,
        })
    }

    /// Asks the service for the version's present public key, and returns its address.
    async fn account_now(&self) -> Result<Address, Fault> {
        let now = GcpSigner::new(self.client.clone(), self.key.specifier(), None).await;
        now.map(|now| now.address()).map_err(|error| fault(&error))
    }
}

impl TransactionSigner for GcpKms {
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

fn fault(error: &GcpSignerError) -> Fault {
    match error {
        GcpSignerError::RequestError(status) => of_status(status),
        GcpSignerError::GoogleKmsError(_) => Fault::Unavailable,
        _ => Fault::Malformed,
    }
}

/// Returns only the code, because the message names projects, keys and accounts.
fn of_status(status: &Status) -> Fault {
    Fault::Refused(
        match status.code() {
            Code::PermissionDenied => "PERMISSION_DENIED",
            Code::Unauthenticated => "UNAUTHENTICATED",
            Code::NotFound => "NOT_FOUND",
            Code::FailedPrecondition => "FAILED_PRECONDITION",
            Code::InvalidArgument => "INVALID_ARGUMENT",
            Code::OutOfRange => "OUT_OF_RANGE",
            Code::Unimplemented => "UNIMPLEMENTED",
            // All other failures may be temporary, for example an answer that was cut off or cannot
            // be read.
            _ => return Fault::Unavailable,
        }
        .to_owned(),
    )
}

/// Leaves out the name of the key.
impl std::fmt::Debug for GcpKms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GcpKms")
            .field("account", &self.account())
            .finish_non_exhaustive()
    }
}

//! Turnkey as a [`Custody`] provider.
//!
//! The organisation's list of keys is the record of all wallets, so several servers may share it.
//! Every signature is verified before it is returned. The operator sets the policy of Turnkey
//! itself, and the other users of the organisation.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_primitives::{Address, B256, Signature, U256, hex};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use custody::{
    Attestation, Counted, Custody, CustodyError, CustodyFuture, Owner, Owners, Purpose, Subject,
    Wallet,
};
use serde_json::json;
use tokio::sync::{OnceCell, Semaphore};

use crate::TurnkeyConfigError;
use crate::api::{AttestationDocument, OnePrivateKey, PrivateKeys, RawSignature};
use crate::client::{Identity, TurnkeyClient, TurnkeyConfig, now_ms};
use crate::keys::{CURVE, FORMAT, Held, Keys, name_of};

/// Requests to create a key within this time have the same bytes, and so are the same activity.
const CREATION_STEP_MS: u64 = 5_000;

/// How many keys are created at once. A further creation is refused at once and can be repeated.
const MOST_CREATIONS: usize = 16;

const LISTING: &str = "to list the keys";
const READING: &str = "to show a key";
const CREATING: &str = "to create a key";
const SIGNING: &str = "to sign";
const ATTESTING: &str = "to attest";

/// The provider `turnkey`. Several servers may share the organisation. Cheap to clone.
#[derive(Clone)]
pub struct TurnkeyCustody(Arc<Inner>);

struct Inner {
    client: TurnkeyClient,
    known: Mutex<Keys>,
    /// The last reading of the list that was wanted.
    wanted: Mutex<Arc<Reading>>,
    /// The place of the reading that runs: lists are read one at a time.
    reading: Semaphore,
    /// The places of creations that run.
    places: Semaphore,
    /// The creations that run, by owner.
    creating: Mutex<HashMap<Owner, Arc<Creation>>>,
}

/// One creation of an owner's key. All who ask meanwhile share it, its failure included.
type Creation = OnceCell<Result<(), CustodyError>>;

/// One reading of the list of keys. All who want it before it begins share it, its failure
/// included.
#[derive(Default)]
struct Reading {
    has_begun: AtomicBool,
    outcome: OnceCell<Result<(), CustodyError>>,
}

impl TurnkeyCustody {
    /// A provider with this configuration. It sends no request yet. It reads the system's
    /// certificates, which takes a moment.
    ///
    /// # Errors
    /// The unusable member of the configuration.
    pub fn connect(config: &TurnkeyConfig) -> Result<Self, TurnkeyConfigError> {
        Ok(Self(Arc::new(Inner {
            client: TurnkeyClient::new(config)?,
            known: Mutex::default(),
            wanted: Mutex::default(),
            reading: Semaphore::new(1),
            places: Semaphore::new(MOST_CREATIONS),
            creating: Mutex::default(),
        })))
    }

    /// The identity of the API key at Turnkey. Nothing is signed or created.
    ///
    /// # Errors
    /// The errors of any query.
    pub async fn whoami(&self) -> Result<Identity, CustodyError> {
        self.0.client.whoami().await
    }
}

impl Inner {
    fn known(&self) -> MutexGuard<'_, Keys> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the list of keys as it is after this call. Any number of concurrent calls read at most
    /// two lists, and wait no longer than that, also when the lists cannot be read.
    async fn refresh(&self) -> Result<(), CustodyError> {
        let reading = {
            let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            // One that has begun may lack what was created just now.
            if wanted.has_begun.load(Ordering::SeqCst) {
                *wanted = Arc::default();
            }
            Arc::clone(&wanted)
        };
        let read = reading.outcome.get_or_init(|| async {
            let place = self.reading.acquire().await;
            let _place = place.map_err(|_| CustodyError::Interrupted)?;
            // Under the lock, so that nobody joins it from here on.
            {
                let _wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
                reading.has_begun.store(true, Ordering::SeqCst);
            }
            let listed: PrivateKeys = self
                .client
                .query(LISTING, "get_private_keys", json!({}))
                .await?;
            *self.known() = Keys::of(&listed.private_keys);
            Ok(())
        });
        read.await.clone()
    }

    async fn held_by(&self, owner: Owner) -> Result<Option<Held>, CustodyError> {
        if let Some(held) = self.known().of_owner(owner) {
            return Ok(Some(held));
        }
        self.refresh().await?;
        Ok(self.known().of_owner(owner))
    }

    async fn held_at(&self, address: Address) -> Result<Option<Held>, CustodyError> {
        if let Some(held) = self.known().at(address) {
            return Ok(Some(held));
        }
        self.refresh().await?;
        Ok(self.known().at(address))
    }

    async fn get_or_create(&self, owner: Owner) -> Result<Wallet, CustodyError> {
        if let Some(held) = self.held_by(owner).await? {
            return Ok(held.wallet);
        }
        let creation = {
            let creating = self.creating.lock();
            let mut creating = creating.unwrap_or_else(PoisonError::into_inner);
            // Creations that nobody waits for any more are dropped.
            creating.retain(|_, creation| Arc::strong_count(creation) > 1);
            Arc::clone(creating.entry(owner).or_default())
        };
        let created = creation.get_or_init(|| async {
            let place = self.places.try_acquire();
            let _place = place.map_err(|_| CustodyError::ProviderBusy { doing: CREATING })?;
            self.create(owner).await
        });
        let created = created.await.clone();
        // Reads the list whatever the outcome: another server may have created a key first, and a
        // creation whose answer was lost may have succeeded.
        self.refresh().await?;
        match (self.known().of_owner(owner), created) {
            (Some(held), _) => {
                tracing::info!(%owner, wallet = %held.wallet.address, "wallet created");
                Ok(held.wallet)
            }
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(CustodyError::ProviderUnavailable {
                doing: LISTING,
                why: "the new key is not on it yet",
            }),
        }
    }

    async fn create(&self, owner: Owner) -> Result<(), CustodyError> {
        let parameters = json!({ "privateKeys": [{
            "privateKeyName": name_of(owner),
            "curve": CURVE,
            "privateKeyTags": [],
            "addressFormats": [FORMAT],
        }]});
        let now = now_ms();
        let step = now.checked_rem(CREATION_STEP_MS).unwrap_or_default();
        let kind = "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS_V2";
        let client = &self.client;
        client
            .submit(
                CREATING,
                "create_private_keys",
                kind,
                parameters,
                now.saturating_sub(step),
            )
            .await
            .map(drop)
    }

    /// The present state of the key.
    async fn confirmed(&self, held: &Held) -> Result<Held, CustodyError> {
        let members = json!({ "privateKeyId": held.id });
        let answer: OnePrivateKey = self
            .client
            .query(READING, "get_private_key", members)
            .await?;
        let now = Held::of(&answer.private_key);
        let now = now.filter(|now| now.id == held.id && now.wallet.address == held.wallet.address);
        let now = now.ok_or(CustodyError::ProviderMalformed { doing: READING })?;
        self.known().update(&now);
        Ok(now)
    }

    async fn sign(
        &self,
        wallet: Address,
        hash: B256,
        purpose: Purpose,
    ) -> Result<Signature, CustodyError> {
        let held = self.held_at(wallet).await?;
        let held = held.ok_or(CustodyError::UnknownWallet(wallet))?;
        if self.confirmed(&held).await?.wallet.exported {
            return Err(CustodyError::Exported(wallet));
        }
        let parameters = json!({
            "signWith": held.id,
            "payload": hex::encode(hash),
            "encoding": "PAYLOAD_ENCODING_HEXADECIMAL",
            "hashFunction": "HASH_FUNCTION_NO_OP",
        });
        let kind = "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2";
        let client = &self.client;
        let activity = client
            .submit(SIGNING, "sign_raw_payload", kind, parameters, now_ms())
            .await?;
        let raw = activity
            .result
            .and_then(|result| result.sign_raw_payload_result);
        let signature = raw.as_ref().and_then(signature);
        let signature = signature.ok_or(CustodyError::ProviderMalformed { doing: SIGNING })?;
        // The answer is verified, not trusted.
        let observed = signature.recover_address_from_prehash(&hash);
        let observed = observed.map_err(|_| CustodyError::ProviderMalformed { doing: SIGNING })?;
        if observed != wallet {
            return Err(CustodyError::OtherSigner {
                expected: wallet,
                observed,
            });
        }
        tracing::debug!(%wallet, purpose = purpose.as_str(), "signed");
        Ok(signature)
    }

    async fn attest(&self, owner: Owner) -> Result<Option<Attestation>, CustodyError> {
        let Some(held) = self.held_by(owner).await? else {
            return Ok(None);
        };
        let held = self.confirmed(&held).await?;
        let wallet = held.wallet;
        let members = json!({ "enclaveType": "signer" });
        let document: Result<AttestationDocument, CustodyError> = self
            .client
            .query(ATTESTING, "get_attestation", members)
            .await;
        let evidence = document.ok();
        let evidence = evidence.and_then(|it| BASE64_STANDARD.decode(it.attestation_document).ok());
        let left = match wallet.exported {
            true => "it was exported to its owner",
            false => "it was never exported",
        };
        let proof = match &evidence {
            Some(_) => {
                "the evidence is the attestation document of Turnkey's signing enclave, signed by AWS: it proves what runs there, and \
                 that this key is in it is Turnkey's word"
            }
            None => "this is Turnkey's word",
        };
        let (address, holds, id) = (wallet.address, wallet.provider.holds(), &held.id);
        let organization = self.client.organization_id();
        let statement = format!(
            "the key of {address} is held {holds}: private key {id} of organisation {organization}, made there, not imported; {left}; {proof}"
        );
        Ok(Some(Attestation {
            wallet,
            statement,
            evidence,
        }))
    }
}

/// A signature from its documented members, with the lower `s`.
fn signature(raw: &RawSignature) -> Option<Signature> {
    let word = |text: &str| {
        let mut bytes = [0_u8; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(U256::from_be_bytes(bytes)).filter(|word| !word.is_zero())
    };
    let is_odd = match raw.v.as_str() {
        "00" => false,
        "01" => true,
        _ => return None,
    };
    let signature = Signature::new(word(&raw.r)?, word(&raw.s)?, is_odd);
    Some(signature.normalized_s())
}

impl Custody for TurnkeyCustody {
    fn get_or_create(&self, owner: Owner) -> CustodyFuture<'_, Wallet> {
        Box::pin(self.0.get_or_create(owner))
    }

    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<Wallet>> {
        Box::pin(async move { Ok(self.0.held_by(owner).await?.map(|held| held.wallet)) })
    }

    fn wallet_at(&self, address: Address) -> CustodyFuture<'_, Option<Wallet>> {
        Box::pin(async move { Ok(self.0.held_at(address).await?.map(|held| held.wallet)) })
    }

    fn sign<'a>(
        &'a self,
        wallet: Address,
        subject: Subject<'a>,
        purpose: Purpose,
    ) -> CustodyFuture<'a, Signature> {
        Box::pin(async move { self.0.sign(wallet, subject.hash()?, purpose).await })
    }

    fn attest(&self, owner: Owner) -> CustodyFuture<'_, Option<Attestation>> {
        Box::pin(self.0.attest(owner))
    }
}

impl Counted for TurnkeyCustody {
    fn counted(&self) -> CustodyFuture<'_, Owners> {
        Box::pin(async move {
            self.0.refresh().await?;
            Ok(self.0.known().owners())
        })
    }
}

impl std::fmt::Debug for TurnkeyCustody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnkeyCustody").finish_non_exhaustive()
    }
}

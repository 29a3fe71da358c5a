//! The encryption of a key to its owner.

use std::convert::Infallible;

use alloy_primitives::{Address, B256, Keccak256};
use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::rand_core::{TryCryptoRng, TryRng};
use hpke::{Deserializable as _, Kem, OpModeS, Serializable as _, single_shot_seal_with_rng};
use keystore::Key;
use zeroize::Zeroizing;

use super::{Export, ExportRefusal, ExportRequest};

/// Encrypts the key as requested (RFC 9180: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
/// ChaCha20Poly1305; `info` is the name of the format, the associated data are the lines of
/// [`about`]). The same key and request give the same ciphertext.
pub(crate) fn seal(
    request: &ExportRequest,
    digest: B256,
    key: &Key,
) -> Result<Export, ExportRefusal> {
    let public_key = <X25519HkdfSha256 as Kem>::PublicKey::from_bytes(request.public_key.as_ref());
    let public_key = public_key.map_err(|_| ExportRefusal::PublicKey)?;
    let (secret, mut stream) = (key.to_bytes(), Stream::new(key, digest));
    let (owner, wallet) = (request.owner.to_string(), request.wallet);
    let about = about(&owner, wallet, digest);
    let sealed = single_shot_seal_with_rng::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(
        &OpModeS::Base,
        &public_key,
        Export::FORMAT.as_bytes(),
        secret.as_slice(),
        about.as_bytes(),
        &mut stream,
    );
    let (enc, ciphertext) = sealed.map_err(|_| ExportRefusal::PublicKey)?;
    Ok(Export {
        format: Export::FORMAT,
        owner,
        wallet,
        request: digest,
        enc: enc.to_bytes().to_vec().into(),
        ciphertext: ciphertext.into(),
    })
}

/// What the ciphertext is bound to: the members of the document beside it, as they stand there.
fn about(owner: &str, wallet: Address, digest: B256) -> String {
    format!("{}\n{owner}\n{wallet:#x}\n{digest:#x}\n", Export::FORMAT)
}

/// The encapsulation's source of randomness: keccak-256 over the wallet's secret key, the digest of
/// the request and a counter. Without the secret key it cannot be distinguished from randomness,
/// and no two requests share it.
struct Stream {
    seed: Zeroizing<[u8; 32]>,
    blocks: u64,
}

impl Stream {
    fn new(key: &Key, digest: B256) -> Self {
        let mut hasher = Keccak256::new();
        hasher.update(b"wallet-export-2 encapsulation");
        hasher.update(key.to_bytes().as_slice());
        hasher.update(digest);
        Self {
            seed: Zeroizing::new(hasher.finalize().0),
            blocks: 0,
        }
    }

    fn block(&mut self) -> Zeroizing<[u8; 32]> {
        let mut hasher = Keccak256::new();
        hasher.update(self.seed.as_slice());
        hasher.update(self.blocks.to_be_bytes());
        self.blocks = self.blocks.saturating_add(1);
        Zeroizing::new(hasher.finalize().0)
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(32) {
            for (byte, random) in chunk.iter_mut().zip(self.block().iter()) {
                *byte = *random;
            }
        }
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Stream {}

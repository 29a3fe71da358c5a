#![doc = include_str!("../README.md")]

mod cipher;
mod document;

use alloy_primitives::{Address, B256, keccak256};
use k256::ecdsa::SigningKey;
use zeroize::Zeroizing;

use self::document::Document;

/// Why a key file or a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeystoreError {
    /// The text is not JSON, or a member is missing or malformed.
    #[error("not a key file of Web3 Secret Storage: {0}")]
    Malformed(String),
    /// The file has another version of the format.
    #[error("expected a key file of version 3, observed version {0}")]
    Version(u64),
    /// The cipher or the key derivation is not supported.
    #[error("the key file is not supported: {0}")]
    Unsupported(String),
    /// The key derivation would take more work than the bound allows.
    #[error("the key file demands too much work: {0}")]
    TooMuchWork(String),
    /// The message authentication code does not match: the password is wrong or the file is
    /// damaged.
    #[error("wrong password, or a damaged key file (mac mismatch)")]
    Mac,
    /// The bytes or the text are not a secp256k1 private key.
    #[error("expected a secp256k1 private key: 32 bytes, or 64 hexadecimal digits")]
    NotAKey,
    /// The address in the file belongs to another key.
    #[error("the key file states the address {stated}, but holds the key of {held}")]
    Address {
        /// The address in the file.
        stated: Address,
        /// The address of the decrypted key.
        held: Address,
    },
    /// The operating system returns no random bytes.
    #[error("the operating system returns no random bytes: {0}")]
    Randomness(String),
}

impl KeystoreError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "keystore_malformed",
            Self::Version(_) => "keystore_version",
            Self::Unsupported(_) => "keystore_unsupported",
            Self::TooMuchWork(_) => "keystore_too_much_work",
            Self::Mac => "keystore_password",
            Self::NotAKey => "keystore_no_key",
            Self::Address { .. } => "keystore_other_account",
            Self::Randomness(_) => "keystore_no_randomness",
        }
    }
}

/// A signing key. Its bytes are cleared from memory when it is dropped. It has no printed form.
pub struct Key(SigningKey);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Key").field(&self.address()).finish()
    }
}

impl Key {
    /// Makes a key from the operating system's randomness.
    ///
    /// # Errors
    /// [`KeystoreError::Randomness`]
    pub fn generate() -> Result<Self, KeystoreError> {
        // Nearly all 32-byte values are keys, so the loop ends soon.
        loop {
            let mut bytes = Zeroizing::new([0_u8; 32]);
            random(bytes.as_mut_slice())?;
            if let Ok(key) = Self::from_bytes(bytes.as_slice()) {
                return Ok(key);
            }
        }
    }

    /// Parses the 32 bytes of a private key.
    ///
    /// # Errors
    /// [`KeystoreError::NotAKey`]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeystoreError> {
        SigningKey::from_slice(bytes)
            .map(Self)
            .map_err(|_| KeystoreError::NotAKey)
    }

    /// Parses the text of a private key: 64 hexadecimal digits, with or without `0x`.
    ///
    /// # Errors
    /// [`KeystoreError::NotAKey`]
    pub fn from_text(text: &str) -> Result<Self, KeystoreError> {
        let text = text.trim();
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let mut bytes = Zeroizing::new([0_u8; 32]);
        alloy_primitives::hex::decode_to_slice(digits, bytes.as_mut_slice())
            .map_err(|_| KeystoreError::NotAKey)?;
        Self::from_bytes(bytes.as_slice())
    }

    /// The account of the key.
    #[must_use]
    pub fn address(&self) -> Address {
        Address::from_public_key(self.0.verifying_key())
    }

    /// The 32 bytes of the private key. The copy is cleared from memory when it is dropped.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes().into())
    }

    /// Signs a digest. Returns the 65 bytes `r ‖ s ‖ v`. The signature is deterministic (RFC 6979),
    /// `s` is in the lower half, and `v` is 27 or 28. `None` when no signature can be made.
    #[must_use]
    pub fn sign(&self, digest: B256) -> Option<[u8; 65]> {
        let (signature, recovery) = self.0.sign_prehash_recoverable(digest.as_slice()).ok()?;
        let mut bytes = [0_u8; 65];
        let (numbers, v) = bytes.split_at_mut(64);
        numbers.copy_from_slice(&signature.to_bytes());
        v.fill(27 + recovery.to_byte());
        Some(bytes)
    }
}

/// Reads the address in a key file, without the password. Some writers leave it out.
///
/// # Errors
/// [`KeystoreError::Malformed`]
pub fn address_beside(text: &str) -> Result<Option<Address>, KeystoreError> {
    Document::parse(text).map(|document| document.address)
}

/// Decrypts a key file with its password.
///
/// # Errors
/// [`KeystoreError`]. A wrong password and a damaged file both have the code `keystore_password`.
pub fn decrypt(text: &str, password: &[u8]) -> Result<Key, KeystoreError> {
    let document = Document::parse(text)?;
    let derived = cipher::derive(&document.kdf, password)?;
    let (cipher_key, mac_key) = derived.split_at(16);
    let mac = keccak256([mac_key, document.ciphertext.as_slice()].concat());
    if !equal(mac.as_slice(), document.mac.as_slice()) {
        return Err(KeystoreError::Mac);
    }
    let mut bytes = Zeroizing::new(document.ciphertext.clone());
    cipher::apply(cipher_key, &document.iv, &mut bytes)?;
    let key = Key::from_bytes(&bytes)?;
    match document.address {
        Some(stated) if stated != key.address() => Err(KeystoreError::Address {
            stated,
            held: key.address(),
        }),
        _ => Ok(key),
    }
}

/// Encrypts a key with scrypt (N = 262144, r = 8, p = 1) and AES-128 in counter mode.
///
/// # Errors
/// [`KeystoreError::Randomness`]
pub fn encrypt(key: &Key, password: &[u8]) -> Result<String, KeystoreError> {
    let (mut salt, mut iv, mut id) = ([0_u8; 32], [0_u8; 16], [0_u8; 16]);
    for bytes in [salt.as_mut_slice(), &mut iv, &mut id] {
        random(bytes)?;
    }
    let kdf = document::Kdf::Scrypt {
        log_n: document::LOG_N,
        r: 8,
        p: 1,
        salt: salt.to_vec(),
    };
    let derived = cipher::derive(&kdf, password)?;
    let (cipher_key, mac_key) = derived.split_at(16);
    let mut bytes = Zeroizing::new(key.0.to_bytes().to_vec());
    cipher::apply(cipher_key, &iv, &mut bytes)?;
    let mac = keccak256([mac_key, bytes.as_slice()].concat());
    Ok(Document {
        address: Some(key.address()),
        ciphertext: bytes.to_vec(),
        iv,
        kdf,
        mac,
    }
    .to_json(id))
}

/// Stretches a password to 32 bytes with scrypt (RFC 7914). The work is bounded as for key files.
///
/// # Errors
/// [`KeystoreError::TooMuchWork`]; [`KeystoreError::Malformed`] and [`KeystoreError::Unsupported`]
/// for numbers that scrypt does not take.
pub fn stretch(
    password: &[u8],
    salt: &[u8],
    (n, r, p): (u64, u64, u64),
) -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
    cipher::derive(&document::scrypt(n, r, p, salt.to_vec())?, password)
}

fn random(bytes: &mut [u8]) -> Result<(), KeystoreError> {
    getrandom::fill(bytes).map_err(|error| KeystoreError::Randomness(error.to_string()))
}

/// Compares in constant time.
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .fold(0, |difference, (a, b)| difference | (a ^ b))
            == 0
}

#[cfg(test)]
mod tests;

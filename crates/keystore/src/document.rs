//! The JSON document of a key file.

use alloy_primitives::{Address, B256, hex};
use serde::Deserialize;
use serde_json::json;

use super::KeystoreError;

/// The work factor of the files that this crate writes: N = 2^18.
pub(super) const LOG_N: u8 = 18;
/// The most memory that scrypt may take, which is 128 · N · r bytes. Its time also grows with p.
const MOST_MEMORY: u64 = 1024 * 1024 * 1024;
const MOST_BLOCKS: u64 = 8 * 1024 * 1024 * 8;
const MOST_ROUNDS: u64 = 10_000_000;

/// A key file.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) address: Option<Address>,
    pub(super) ciphertext: Vec<u8>,
    pub(super) iv: [u8; 16],
    pub(super) kdf: Kdf,
    pub(super) mac: B256,
}

/// The function that derives a key from the password.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kdf {
    Scrypt {
        log_n: u8,
        r: u32,
        p: u32,
        salt: Vec<u8>,
    },
    Pbkdf2 {
        rounds: u32,
        salt: Vec<u8>,
    },
}

#[derive(Deserialize)]
struct File {
    version: u64,
    #[serde(default)]
    address: Option<String>,
    // The first versions of geth wrote this member in upper case.
    #[serde(alias = "Crypto")]
    crypto: Crypto,
}

#[derive(Deserialize)]
struct Crypto {
    cipher: String,
    cipherparams: CipherParams,
    ciphertext: String,
    kdf: String,
    kdfparams: KdfParams,
    mac: String,
}

#[derive(Deserialize)]
struct CipherParams {
    iv: String,
}

#[derive(Deserialize)]
struct KdfParams {
    dklen: u64,
    salt: String,
    n: Option<u64>,
    r: Option<u64>,
    p: Option<u64>,
    c: Option<u64>,
    prf: Option<String>,
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Self, KeystoreError> {
        #[derive(Deserialize)]
        struct Version {
            version: Option<u64>,
        }
        let malformed = |error: serde_json::Error| {
            // The parser's own message could repeat the content of the file.
            KeystoreError::Malformed(format!("line {} column {}", error.line(), error.column()))
        };
        let version: Version = serde_json::from_str(text).map_err(malformed)?;
        match version.version {
            Some(3) => {}
            Some(other) => return Err(KeystoreError::Version(other)),
            None => return Err(KeystoreError::Malformed("no member version".to_owned())),
        }
        let file: File = serde_json::from_str(text).map_err(|error| {
            KeystoreError::Malformed(format!(
                "a missing or mistyped member at line {} column {}",
                error.line(),
                error.column()
            ))
        })?;
        debug_assert_eq!(file.version, 3);
        let crypto = file.crypto;
        if crypto.cipher != "aes-128-ctr" {
            return Err(KeystoreError::Unsupported(format!(
                "the cipher {:?}",
                crypto.cipher
            )));
        }
        let exact = |name: &str, text: &str| {
            bytes(name, text)?
                .try_into()
                .map_err(|_| KeystoreError::Malformed(format!("the length of {name}")))
        };
        Ok(Self {
            address: address(file.address.as_deref())?,
            ciphertext: bytes("ciphertext", &crypto.ciphertext)?,
            iv: exact("iv", &crypto.cipherparams.iv)?,
            kdf: Kdf::read(&crypto.kdf, &crypto.kdfparams)?,
            mac: B256::try_from(bytes("mac", &crypto.mac)?.as_slice())
                .map_err(|_| KeystoreError::Malformed("the length of mac".to_owned()))?,
        })
    }

    pub(super) fn to_json(&self, id: [u8; 16]) -> String {
        let (kdf, params) = match &self.kdf {
            Kdf::Scrypt { log_n, r, p, salt } => (
                "scrypt",
                json!({"dklen": 32, "n": 1_u64 << log_n, "p": p, "r": r, "salt": hex::encode(salt)}),
            ),
            Kdf::Pbkdf2 { rounds, salt } => (
                "pbkdf2",
                json!({"c": rounds, "dklen": 32, "prf": "hmac-sha256", "salt": hex::encode(salt)}),
            ),
        };
        let file = json!({
            "version": 3,
            "id": uuid(id),
            "address": self.address.map(hex::encode),
            "crypto": {
                "cipher": "aes-128-ctr",
                "cipherparams": {"iv": hex::encode(self.iv)},
                "ciphertext": hex::encode(&self.ciphertext),
                "kdf": kdf,
                "kdfparams": params,
                "mac": hex::encode(self.mac),
            },
        });
        format!("{file}\n")
    }
}

impl Kdf {
    fn read(name: &str, params: &KdfParams) -> Result<Self, KeystoreError> {
        if params.dklen != 32 {
            return Err(KeystoreError::Unsupported(format!(
                "a derived key of {} bytes",
                params.dklen
            )));
        }
        let salt = bytes("salt", &params.salt)?;
        let number = |name: &str, number: Option<u64>| {
            number.ok_or_else(|| KeystoreError::Malformed(format!("no member kdfparams.{name}")))
        };
        match name {
            "scrypt" => {
                let (n, r, p) = (
                    number("n", params.n)?,
                    number("r", params.r)?,
                    number("p", params.p)?,
                );
                scrypt(n, r, p, salt)
            }
            "pbkdf2" => match params.prf.as_deref() {
                Some("hmac-sha256") => pbkdf2(number("c", params.c)?, salt),
                other => Err(KeystoreError::Unsupported(format!("pbkdf2 with {other:?}"))),
            },
            other => Err(KeystoreError::Unsupported(format!(
                "the key derivation {other:?}"
            ))),
        }
    }
}

/// The parameters of scrypt, within the bounds.
pub(super) fn scrypt(n: u64, r: u64, p: u64, salt: Vec<u8>) -> Result<Kdf, KeystoreError> {
    let too_much = || KeystoreError::TooMuchWork(format!("scrypt with n = {n}, r = {r}, p = {p}"));
    let blocks = n.checked_mul(r).ok_or_else(too_much)?;
    let memory = blocks.checked_mul(128).ok_or_else(too_much)?;
    let work = blocks.checked_mul(p).ok_or_else(too_much)?;
    if memory > MOST_MEMORY || work > MOST_BLOCKS {
        return Err(too_much());
    }
    if !n.is_power_of_two() || n < 2 || r == 0 || p == 0 {
        return Err(KeystoreError::Malformed(format!(
            "scrypt with n = {n}, r = {r}, p = {p}"
        )));
    }
    Ok(Kdf::Scrypt {
        log_n: u8::try_from(n.trailing_zeros()).map_err(|_| too_much())?,
        r: u32::try_from(r).map_err(|_| too_much())?,
        p: u32::try_from(p).map_err(|_| too_much())?,
        salt,
    })
}

fn pbkdf2(rounds: u64, salt: Vec<u8>) -> Result<Kdf, KeystoreError> {
    if rounds == 0 {
        return Err(KeystoreError::Malformed("pbkdf2 with c = 0".to_owned()));
    }
    u32::try_from(rounds)
        .ok()
        .filter(|_| rounds <= MOST_ROUNDS)
        .map(|rounds| Kdf::Pbkdf2 { rounds, salt })
        .ok_or_else(|| KeystoreError::TooMuchWork(format!("pbkdf2 with c = {rounds}")))
}

fn bytes(name: &str, text: &str) -> Result<Vec<u8>, KeystoreError> {
    hex::decode(text).map_err(|_| KeystoreError::Malformed(format!("{name} is not hex")))
}

/// Parses an address with or without `0x`, and with or without a checksum. `None` when the member
/// is absent or empty.
fn address(text: Option<&str>) -> Result<Option<Address>, KeystoreError> {
    match text {
        None | Some("") => Ok(None),
        Some(text) => text
            .parse()
            .map(Some)
            .map_err(|_| KeystoreError::Malformed("address is not an address".to_owned())),
    }
}

/// The text of a random UUID (version 4).
fn uuid(id: [u8; 16]) -> String {
    let number = u128::from_be_bytes(id) & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{number:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default().to_owned();
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
}

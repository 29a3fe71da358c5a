//! Key derivation from the password, and the cipher.

use aes::{
    Aes128,
    cipher::{KeyIvInit as _, StreamCipher as _},
};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{KeystoreError, document::Kdf};

/// Derives 32 bytes from the password. The first half is the key of the cipher. The second half is
/// a part of the authentication code's input.
pub(super) fn derive(kdf: &Kdf, password: &[u8]) -> Result<Zeroizing<[u8; 32]>, KeystoreError> {
    let mut derived = Zeroizing::new([0_u8; 32]);
    match kdf {
        Kdf::Scrypt { log_n, r, p, salt } => {
            let params = scrypt::Params::new(*log_n, *r, *p)
                .map_err(|_| KeystoreError::Unsupported("these scrypt parameters".to_owned()))?;
            scrypt::scrypt(password, salt, &params, derived.as_mut_slice())
                .map_err(|_| KeystoreError::Unsupported("this scrypt output length".to_owned()))?;
        }
        Kdf::Pbkdf2 { rounds, salt } => {
            pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, *rounds, derived.as_mut_slice());
        }
    }
    Ok(derived)
}

/// Encrypts or decrypts by AES-128 in counter mode, where both are the same operation.
pub(super) fn apply(key: &[u8], iv: &[u8; 16], bytes: &mut [u8]) -> Result<(), KeystoreError> {
    let mut cipher = ctr::Ctr128BE::<Aes128>::new_from_slices(key, iv)
        .map_err(|_| KeystoreError::Unsupported("this length of the cipher's key".to_owned()))?;
    cipher.apply_keystream(bytes);
    Ok(())
}

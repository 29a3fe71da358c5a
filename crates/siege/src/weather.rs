//! Decides which dependencies fail, when they fail, and for which callers.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloy_primitives::{Address, B256, hex, keccak256};

use crate::chance::Chance;

/// Decides whether a dependency fails. Whether a payment meets a failure is drawn from the seed,
/// its nonce and the number of the attempt. The order of the requests does not matter.
///
/// Payments of *steady* buyers meet no failure, so that their times show only the effect of the
/// crowd.
#[derive(Debug)]
pub struct Weather {
    seed: u64,
    calm: AtomicBool,
    steady: HashSet<Address>,
    /// The addresses of the steady buyers, as lower-case hexadecimal digits.
    steady_digits: Vec<String>,
    /// The transactions of the steady buyers, as lower-case hexadecimal digits.
    transactions: Mutex<HashSet<String>>,
}

impl Weather {
    /// Makes failures for everybody except the steady buyers.
    pub fn new(seed: u64, steady: impl IntoIterator<Item = Address>) -> Self {
        let steady: HashSet<Address> = steady.into_iter().collect();
        Self {
            seed,
            calm: AtomicBool::new(false),
            steady_digits: steady.iter().map(hex::encode).collect(),
            steady,
            transactions: Mutex::default(),
        }
    }

    /// Lets failures happen.
    pub fn rise(&self) {
        self.calm.store(false, Ordering::Relaxed);
    }

    /// Stops all failures.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    /// Whether the failures have stopped.
    pub fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Whether the payments of an account meet no failure.
    pub fn spares(&self, payer: Address) -> bool {
        self.is_calm() || self.steady.contains(&payer)
    }

    /// Spares a transaction from failures, if it settles a payment of a steady buyer.
    pub fn settled(&self, payer: Address, transaction: B256) {
        if self.steady.contains(&payer) {
            self.transactions().insert(hex::encode(transaction));
        }
    }

    /// Spares a transaction from failures, if its bytes contain the address of a steady buyer.
    pub fn sent(&self, raw: &[u8]) {
        let is_steady = |payer: &Address| raw.windows(20).any(|bytes| bytes == payer.as_slice());
        if self.steady.iter().any(is_steady) {
            self.transactions().insert(hex::encode(keccak256(raw)));
        }
    }

    /// Whether a request must not fail: it names the address of a steady buyer (in calldata or
    /// topics) or a spared transaction.
    pub fn spares_request(&self, body: &str) -> bool {
        if self.is_calm() {
            return true;
        }
        let body = body.to_ascii_lowercase();
        if self.steady_digits.iter().any(|name| body.contains(name)) {
            return true;
        }
        let transactions = self.transactions();
        let mut words = body.split(|c: char| !c.is_ascii_hexdigit());
        words.any(|word| transactions.contains(word))
    }

    /// Returns the random draws for one event.
    pub fn chance(&self, event: &str) -> Chance {
        Chance::of(self.seed, event)
    }

    fn transactions(&self) -> MutexGuard<'_, HashSet<String>> {
        let transactions = self.transactions.lock();
        transactions.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_buyers_are_always_spared_and_in_calm_everybody_is() {
        let (steady, other) = (Address::repeat_byte(0xAB), Address::repeat_byte(0xCD));
        let weather = Weather::new(1, [steady]);
        assert!(weather.spares(steady) && !weather.spares(other));
        let call = |payer: Address| {
            let digits = hex::encode_upper(payer);
            format!(r#"{{"data":"0x70a08231{digits:0>64}"}}"#)
        };
        assert!(weather.spares_request(&call(steady)));
        assert!(!weather.spares_request(&call(other)));
        let transaction = B256::repeat_byte(0x77);
        let receipt = format!(r#"["{transaction}"]"#);
        weather.settled(other, transaction);
        assert!(!weather.spares_request(&receipt));
        weather.settled(steady, transaction);
        assert!(weather.spares_request(&receipt));
        let bytes_of = |payer: Address| [b"to the token", payer.as_slice(), b"and more"].concat();
        let [of_other, of_steady] = [other, steady].map(bytes_of);
        weather.sent(&of_other);
        weather.sent(&of_steady);
        let receipt = |raw: &[u8]| format!(r#"["{}"]"#, keccak256(raw));
        assert!(weather.spares_request(&receipt(&of_steady)));
        assert!(!weather.spares_request(&receipt(&of_other)));
        weather.calm_down();
        assert!(weather.spares(other) && weather.spares_request(&call(other)));
        weather.rise();
        assert!(!weather.spares(other) && !weather.spares_request(&call(other)));
    }
}

//! Payers: accounts with a key, and a contract wallet, whose signature only the chain can judge.

use alloy_primitives::{Address, B256, Bytes};
use x402_wire::{PaymentPayload, Scheme};

use crate::payment::tests::payer::{Order, Payer, written};

/// The contract wallet.
const WALLET: Address = Address::repeat_byte(0xcc);

pub(super) enum Account {
    Key(Payer),
    Wallet,
}

pub(super) fn is_wallet(payer: Address) -> bool {
    payer == WALLET
}

/// The signature that the wallet accepts for an authorization. It is longer than a key's.
pub(super) fn wallet_signature(nonce: B256) -> Bytes {
    [nonce.as_slice(), nonce.as_slice(), &[1, 2]]
        .concat()
        .into()
}

/// The signature of a session key that the broker accepts for an authorization of any payer.
pub(super) fn session_signature(nonce: B256) -> Bytes {
    [nonce.as_slice(), nonce.as_slice(), &[3]].concat().into()
}

impl Account {
    pub(super) fn address(&self) -> Address {
        match self {
            Self::Key(payer) => payer.address(),
            Self::Wallet => WALLET,
        }
    }

    pub(super) fn sign(&self, order: &Order) -> PaymentPayload {
        match self {
            _ if order.option.scheme == Scheme::AggrDeferred => {
                written(self.address(), order, &session_signature(order.nonce))
            }
            Self::Key(payer) => payer.sign(order),
            Self::Wallet => written(WALLET, order, &wallet_signature(order.nonce)),
        }
    }

    /// Makes the same authorization with a signature that is not the payer's, as long as a key's or
    /// as a wallet's.
    pub(super) fn forged(&self, order: &Order, long: bool) -> PaymentPayload {
        let length = if long { 66 } else { 65 };
        written(self.address(), order, &vec![0x11; length])
    }
}

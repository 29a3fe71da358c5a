//! Accounts with public keys, for tests and for the demo.

use alloy_primitives::{Address, B256, address, b256};

/// An account with a public private key: one of the ten that anvil and Hardhat derive from the
/// mnemonic `test test test test test test test test test test test junk`. Anything sent to it on a
/// public network is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DevAccount {
    /// The address of `key`.
    pub address: Address,
    /// The private key.
    pub key: B256,
}

/// The ten accounts, in anvil's order.
pub const DEV_ACCOUNTS: [DevAccount; 10] = [
    BUYER,
    GAS_PAYER,
    DevAccount {
        address: address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
        key: b256!("5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"),
    },
    PAYEE,
    DevAccount {
        address: address!("15d34AAf54267DB7D7c367839AAf71A00a2C6A65"),
        key: b256!("47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a"),
    },
    DevAccount {
        address: address!("9965507D1a55bcC2695C58ba16FB37d819B0A4dc"),
        key: b256!("8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba"),
    },
    DevAccount {
        address: address!("976EA74026E726554dB657fA54763abd0C3a0aa9"),
        key: b256!("92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e"),
    },
    DevAccount {
        address: address!("14dC79964da2C08b23698B3D3cc7Ca32193d9955"),
        key: b256!("4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356"),
    },
    DevAccount {
        address: address!("23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"),
        key: b256!("dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97"),
    },
    MINTER,
];

/// The account that holds tokens and signs payments: account 0.
pub const BUYER: DevAccount = DevAccount {
    address: address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
    key: b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"),
};

/// The account that pays gas for settlements: account 1.
pub const GAS_PAYER: DevAccount = DevAccount {
    address: address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    key: b256!("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"),
};

/// The account that is paid: account 3, the payee of the payment vectors.
pub const PAYEE: DevAccount = DevAccount {
    address: address!("90F79bf6EB2c4f870365E785982E1f101E93b906"),
    key: b256!("7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"),
};

/// The account that may mint every token of the chain: account 9.
pub const MINTER: DevAccount = DevAccount {
    address: address!("a0Ee7A142d267C1f36714E4a8F75612F20a79720"),
    key: b256!("2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"),
};

#[cfg(test)]
mod tests {
    use alloy_signer_local::PrivateKeySigner;

    use super::*;

    #[test]
    fn each_address_belongs_to_its_key() {
        for account in DEV_ACCOUNTS {
            let signer = PrivateKeySigner::from_bytes(&account.key).unwrap();
            assert_eq!(signer.address(), account.address);
        }
    }
}

//! The three assets of chain 196, on a local chain.

use std::fs;
use std::path::{Path, PathBuf};

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::sol;
use serde::Deserialize;

use crate::{Account, Anvil, JudgeError, Rpc};

sol! {
    /// The part of the test tokens (`fixtures/contracts`) that the judges use.
    interface TestToken {
        event Transfer(address indexed from, address indexed to, uint256 value);
        event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
        event AuthorizationAlreadyUsed(address indexed authorizer, bytes32 indexed nonce);

        function initialize(string name, string symbol, string version, address minter) external;
        function mint(address to, uint256 amount) external returns (bool);
        function balanceOf(address account) external view returns (uint256);
        function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
        function DOMAIN_SEPARATOR() external view returns (bytes32);
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external;
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) external;
    }
}

/// An asset that the service accepts, and the test contract that takes its place.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// The address of the asset on chain 196.
    pub address: Address,
    /// The `name` of the asset's EIP-712 domain.
    pub name: &'static str,
    /// The short name of the asset.
    pub symbol: &'static str,
    /// The `version` of the asset's EIP-712 domain.
    pub version: &'static str,
    /// The contract of `fixtures/contracts` that behaves like the asset.
    pub contract: &'static str,
}

impl Token {
    /// The three assets, in the order of the offer. The list is written out here, so that a judge
    /// does not take it from the code that it judges.
    pub const ALL: [Self; 3] = [
        Self {
            address: address!("0x779Ded0c9e1022225f8E0630b35a9b54bE713736"),
            name: "USD\u{20ae}0",
            symbol: "USDT0",
            version: "1",
            contract: "Eip3009Token",
        },
        Self {
            address: address!("0xB6CEceAB302E2E4948951eE7843FC24E92933061"),
            name: "USD Coin",
            symbol: "USDC",
            version: "2",
            contract: "Eip3009Token",
        },
        Self {
            address: address!("0x4ae46a509F6b1D9056937BA4500cb143933D2dc8"),
            name: "Global Dollar",
            symbol: "USDG",
            version: "1",
            // This token does not revert when an authorization is used a second time.
            contract: "LenientReuseToken",
        },
    ];

    /// The balance of an account in the smallest unit.
    ///
    /// # Errors
    /// As [`Rpc::view`].
    pub async fn balance_of(&self, rpc: &Rpc, account: Address) -> Result<U256, JudgeError> {
        rpc.view(self.address, &TestToken::balanceOfCall { account })
            .await
    }
}

/// Places every token at its address and gives the buyer `amount` of each.
///
/// # Errors
/// When an artifact of `fixtures/contracts` cannot be read or the chain refuses.
pub async fn install_tokens(chain: &Anvil, amount: U256) -> Result<(), JudgeError> {
    for token in Token::ALL {
        chain
            .set_code(token.address, &runtime_code(token.contract)?)
            .await?;
        let initialize = TestToken::initializeCall {
            name: token.name.to_owned(),
            symbol: token.symbol.to_owned(),
            version: token.version.to_owned(),
            minter: Account::MINTER.address,
        };
        chain
            .send(Account::MINTER, token.address, &initialize)
            .await?;
        let mint = TestToken::mintCall {
            to: Account::BUYER.address,
            amount,
        };
        chain.send(Account::MINTER, token.address, &mint).await?;
    }
    Ok(())
}

/// The folder of the test contracts.
#[must_use]
pub fn contracts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/contracts")
}

fn runtime_code(contract: &str) -> Result<Bytes, JudgeError> {
    let path = contracts()
        .join("artifacts")
        .join(format!("{contract}.json"));
    let text = fs::read_to_string(&path).map_err(|source| JudgeError::File {
        path: path.clone(),
        source,
    })?;
    let artifact: Artifact = serde_json::from_str(&text).map_err(|source| JudgeError::Json {
        origin: path.display().to_string(),
        source,
        observed: String::new(),
    })?;
    Ok(artifact.deployed_bytecode)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    deployed_bytecode: Bytes,
}

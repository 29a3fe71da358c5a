//! The keys of the wallets, and the list of calls that they may sign.

use std::collections::BTreeMap;
use std::sync::Mutex;

use alloy_primitives::{Address, Signature};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::SolCall as _;
use custody::{
    Attestation, Custody, CustodyError, CustodyFuture, Owner, Provider, Purpose, SigningPolicy,
    Subject, Wallet,
};
use dev_chain::cctp::{MESSAGE_TRANSMITTER, TOKEN_MESSENGER};
use dev_chain::{arbitrum, base, xlayer};
use tokio::sync::watch;

use super::{owner_id, snwapCall};

/// Keys in memory, one for each owner. The key of the first owner exists from the start.
pub(crate) struct Keys {
    keys: Mutex<BTreeMap<Address, (Owner, PrivateKeySigner)>>,
    signs: watch::Receiver<bool>,
    finds: watch::Receiver<bool>,
}

impl Keys {
    /// Makes keys that sign while `signs` is true. Wallets are found while `finds` is true.
    pub(crate) fn new(signs: watch::Receiver<bool>, finds: watch::Receiver<bool>) -> Self {
        let key = Self::of(owner_id());
        Self {
            keys: Mutex::new([(key.address(), (owner_id(), key))].into()),
            signs,
            finds,
        }
    }

    fn wallet_of(&self, owner: Owner) -> Wallet {
        let key = Self::of(owner);
        let address = key.address();
        self.keys.lock().unwrap().insert(address, (owner, key));
        known(owner, address)
    }

    fn of(owner: Owner) -> PrivateKeySigner {
        let seed = alloy_primitives::keccak256(owner.to_string());
        PrivateKeySigner::from_bytes(&seed).unwrap()
    }
}

pub(crate) fn wallet() -> Address {
    Keys::of(owner_id()).address()
}

fn ready<'a, T: Send + 'a>(value: Result<T, CustodyError>) -> CustodyFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

const fn known(owner: Owner, address: Address) -> Wallet {
    Wallet {
        owner,
        address,
        created_at: None,
        provider: Provider::Local,
        exported: false,
    }
}

impl Custody for Keys {
    fn get_or_create(&self, owner: Owner) -> CustodyFuture<'_, Wallet> {
        ready(Ok(self.wallet_of(owner)))
    }

    /// Every owner has a wallet here.
    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<Wallet>> {
        ready(Ok(Some(self.wallet_of(owner))))
    }

    fn wallet_at(&self, address: Address) -> CustodyFuture<'_, Option<Wallet>> {
        let found = {
            let keys = self.keys.lock().unwrap();
            keys.get(&address).map(|(owner, _)| known(*owner, address))
        };
        let mut finds = self.finds.clone();
        Box::pin(async move {
            finds.wait_for(|finds| *finds).await.unwrap();
            Ok(found)
        })
    }

    fn sign<'a>(
        &'a self,
        wallet: Address,
        subject: Subject<'a>,
        _: Purpose,
    ) -> CustodyFuture<'a, Signature> {
        let keys = self.keys.lock().unwrap();
        let signed = subject.hash().map(|hash| {
            let (_, key) = &keys[&wallet];
            key.sign_hash_sync(&hash).unwrap()
        });
        let mut signs = self.signs.clone();
        Box::pin(async move {
            signs.wait_for(|signs| *signs).await.unwrap();
            signed
        })
    }

    fn attest(&self, _: Owner) -> CustodyFuture<'_, Option<Attestation>> {
        ready(Ok(None))
    }
}

/// Makes the list of the calls that wallets may sign on the three chains.
pub(crate) fn policy() -> SigningPolicy {
    let token = "\"0x095ea7b3\", \"0xa9059cbb\", \"0xe3ee160e\", \"0xcf092995\"";
    let pool = "\"0x617ba037\", \"0x69328dec\"";
    let vault = "\"0x6e553f65\", \"0xb460af94\", \"0xba087652\"";
    let (swap, burn, mint) = ("\"0x5f3bd1c8\"", "\"0x8e0250ee\"", "\"0x57ecfd28\"");
    let swap = swap.replace(
        "5f3bd1c8",
        &alloy_primitives::hex::encode(snwapCall::SELECTOR),
    );
    let mut text = "version = \"test\"\n".to_owned();
    let mut row = |chain: u64, contract: Address, selectors: &str, product: &str| {
        text += &format!(
            "[[targets]]\nchain_id = {chain}\ncontract = \"{contract}\"\nselectors = [{selectors}]\nwhat = \"it\"\n{product}\n"
        );
    };
    let product = |id: &str, protocol: &str, asset: Address| {
        format!("product_id = \"{id}\"\nprotocol = \"{protocol}\"\nasset = \"{asset}\"\n")
    };
    for asset in [xlayer::USDT0, xlayer::USDG, xlayer::USDC] {
        row(196, asset, token, "");
    }
    let aave = |id: &str, asset| product(id, "aave-v3", asset);
    row(
        196,
        xlayer::AAVE_POOL,
        pool,
        &aave("aave-usdt0", xlayer::USDT0),
    );
    row(
        196,
        xlayer::AAVE_POOL,
        pool,
        &aave("aave-usdg", xlayer::USDG),
    );
    row(
        196,
        xlayer::STATA_USDG,
        vault,
        &product("stata-usdg", "erc4626", xlayer::USDG),
    );
    for (chain, usdc, weth) in [
        (8453, base::USDC, base::WETH),
        (42_161, arbitrum::USDC, arbitrum::WETH),
    ] {
        row(chain, usdc, token, "");
        row(chain, weth, token, "");
        row(chain, base::EXCHANGE, &swap, "");
        row(chain, TOKEN_MESSENGER, burn, "");
        row(chain, MESSAGE_TRANSMITTER, mint, "");
    }
    SigningPolicy::parse(&text).unwrap()
}

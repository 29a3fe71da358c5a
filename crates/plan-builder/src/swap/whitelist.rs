//! Compares the router's own whitelist on the chain with the reviewed contracts and functions. A
//! plan with a contract that is not in the whitelist would revert.

use alloy_primitives::{Address, Selector};
use alloy_sol_types::{SolCall, sol};
use calldata_checks::fees::{FeePolicy, ReviewedChain};

use crate::ports::{Accounts, PortError};

sol! {
    /// Whether the router allows a leg to call this function of this contract.
    function isContractSelectorWhitelisted(address contractAddress, bytes4 selector) external view returns (bool);
}

/// The selector under which the router lists a contract that may only be approved.
const APPROVE_ONLY: Selector = Selector::new([0xff; 4]);
/// The selector of `forwardERC20Fees`.
const FORWARD_FEES: Selector = Selector::new([0x33, 0x2d, 0x74, 0x6b]);

/// The result of asking the router about one reviewed contract and function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The key in the fee configuration: `chains[0].legs[2]`, `chains[0].forwarder`.
    pub key: String,
    /// The chain.
    pub chain_id: u64,
    /// The contract.
    pub contract: Address,
    /// Its function. `0xffffffff` for a spender that is only approved.
    pub function: Selector,
    /// Whether the whitelist has it. The error of the port when the router could not be read.
    pub listed: Result<bool, PortError>,
}

/// Asks the router of one chain about every reviewed contract and function. Stops asking a node
/// that fails.
///
/// # Example
/// ```
/// use plan_builder::ports::{NoAccounts, PortErrorReason};
/// use plan_builder::swap::whitelist;
/// # use plan_builder::{FeeDocument, Policy};
///
/// # macro_rules! file {
/// #     ($name:literal) => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)) };
/// # }
/// # fn ready<T>(future: impl Future<Output = T>) -> T {
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     match std::pin::pin!(future).poll(&mut context) {
/// #         std::task::Poll::Ready(output) => output,
/// #         std::task::Poll::Pending => unreachable!("a port that answers from memory never waits"),
/// #     }
/// # }
/// # let document: FeeDocument = toml::from_str(file!("fees.toml"))?;
/// # let policy = Policy::new(document.review()?);
/// let chain = &policy.fees.chains[0];
/// let listings = ready(whitelist::of_chain(&NoAccounts, &policy.fees, chain)); // or `.await`
/// for listing in &listings {
///     match &listing.listed {
///         Ok(true) => println!("{}: listed", listing.key),
///         Ok(false) => println!("{}: a plan over it would revert", listing.key),
///         Err(error) => println!("{}: nobody knows: {error}", listing.key),
///     }
/// }
/// assert!(matches!(
///     listings[0].listed.as_ref().map_err(|error| &error.reason),
///     Err(PortErrorReason::NotConfigured { .. })
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn of_chain<A: Accounts + ?Sized>(
    accounts: &A,
    policy: &FeePolicy,
    chain: &ReviewedChain,
) -> Vec<Listing> {
    let at = policy
        .chains
        .iter()
        .position(|one| one == chain)
        .unwrap_or_default();
    let mut listings = Vec::new();
    for (place, contract, function) in reviewed(chain) {
        let listed = is_listed(accounts, chain, contract, function).await;
        let failed = listed.is_err();
        listings.push(Listing {
            key: format!("chains[{at}].{place}"),
            chain_id: chain.chain_id,
            contract,
            function,
            listed,
        });
        if failed {
            break;
        }
    }
    listings
}

/// Lists the contracts and functions that a plan makes the router call or approve.
fn reviewed(chain: &ReviewedChain) -> Vec<(String, Address, Selector)> {
    let mut all = vec![("forwarder".to_owned(), chain.forwarder, FORWARD_FEES)];
    for (at, leg) in chain.legs.iter().enumerate() {
        let place = format!("legs[{at}]");
        for function in &leg.selectors {
            all.push((place.clone(), leg.contract, *function));
        }
        if leg.spender != leg.contract {
            all.push((format!("{place}.spender"), leg.spender, APPROVE_ONLY));
        }
    }
    all
}

async fn is_listed<A: Accounts + ?Sized>(
    accounts: &A,
    chain: &ReviewedChain,
    contract: Address,
    function: Selector,
) -> Result<bool, PortError> {
    let call = isContractSelectorWhitelistedCall {
        contractAddress: contract,
        selector: function,
    };
    let data = call.abi_encode().into();
    let returned = accounts.call(chain.chain_id, chain.router, data).await?;
    // A contract that reverts here, or does not return exactly one word, is not a router that
    // accepts the leg.
    let yes = returned.is_some_and(|word| {
        word.len() == 32 && word.last() == Some(&1) && word.iter().rev().skip(1).all(|b| *b == 0)
    });
    Ok(yes)
}

//! The stage of these tests: a chain with the framework, an account that has its code, and the
//! grant that the account signed.

use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, Bytes, U256, address, b256, keccak256};
use alloy_sol_types::{SolCall as _, SolValue as _, sol};
use delegation_fence::onchain::{
    ChainGrant, ChainTerms, Level, MANAGER, Purpose, UnsentTransaction,
};
use delegation_fence::{AccountKind, Domain, Grant, Name, Order, Policy, Signed, TypedData};
use dev_chain::base::{CHAIN_ID, EXCHANGE, ROUTER, USDC, WETH};
use judges::{Account, Anvil, TestToken, Toolchain, TransactionReceipt};
use serde_json::{Value, json};

use crate::base_chain::{self, TRADER};
use crate::onchain::install::install;
pub(crate) use crate::onchain::install::{ENFORCER, INTERPOSED, point, reason, runtime_code, sign};
pub(crate) use crate::onchain::plans::{approval, output, packed, steps, swap};

sol! {
    struct Caveat { address enforcer; bytes terms; bytes args; }
    struct Delegation { address delegate; address delegator; bytes32 authority; Caveat[] caveats; uint256 salt; bytes signature; }
    struct Execution { address target; uint256 value; bytes callData; }
    function enableDelegation(Delegation delegation) external;
    function redeemDelegations(bytes[] contexts, bytes32[] modes, bytes[] executions) external;
    function approve(address spender, uint256 amount) external returns (bool);
    function allowance(address owner, address spender) external view returns (uint256);
    function setAllowed(address target, bytes4 selector, bool isAllowed) external;
    function store(address target, bytes data) external;
    function call(address target, bytes data) external;
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
    function setRate(address tokenIn, address tokenOut, uint256 numerator, uint256 denominator) external;
    function snwap(address tokenIn, uint256 amountIn, address recipient, address tokenOut, uint256 amountOutMin, address executor, bytes executorData) external returns (uint256 amountOut);
}

/// The account that gives the permission.
pub(crate) const HOLDER: Account = TRADER;
/// The key with which the service redeems.
pub(crate) const REDEEMER: Account = Account::SETTLER;
/// The agent's key.
pub(crate) const DELEGATE: Account = Account {
    address: address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
    private_key: "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
};
/// A stranger, who has no rights.
pub(crate) const STRANGER: Account = Account {
    address: address!("90F79bf6EB2c4f870365E785982E1f101E93b906"),
    private_key: "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
};
pub(crate) const USD: u64 = 1_000_000;
pub(crate) const SINGLE: B256 = B256::ZERO;
pub(crate) const BATCH: B256 =
    b256!("0100000000000000000000000000000000000000000000000000000000000000");

pub(crate) struct Stage {
    pub(crate) chain: Anvil,
    pub(crate) grant: TypedData<Grant>,
    pub(crate) policy: Policy,
    pub(crate) level: Level,
    pub(crate) delegations: ChainGrant,
}

/// One entry of a redemption: a delegation and its executions.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) context: Bytes,
    pub(crate) mode: B256,
    pub(crate) execution: Bytes,
}

impl Stage {
    pub(crate) async fn open(level: Level) -> Self {
        let toolchain = Toolchain::from_env().unwrap();
        let chain = base_chain::start(&toolchain).await;
        install(&toolchain, &chain).await;
        point(&chain, HOLDER, 0).await;
        point(&chain, STRANGER, 0).await;
        let policy = Policy::parse(include_str!(
            "../../../../../docs/fence-policy.example.json"
        ));
        let policy = policy.unwrap();
        let grant = grant(&policy, HOLDER.address, 5_000 * USD);
        let delegations = delegate(&grant, &policy, level, HOLDER, U256::ZERO);
        Self {
            chain,
            grant,
            policy,
            level,
            delegations,
        }
    }

    pub(crate) async fn stock() -> Self {
        Self::open(Level::Stock).await
    }

    pub(crate) async fn fenced() -> Self {
        Self::open(Level::Enforcer(ENFORCER)).await
    }

    /// The chain of delegations for a purpose, in the form of the manager's argument.
    pub(crate) fn context(&self, purpose: Purpose, args: &Bytes) -> Bytes {
        context(&self.delegations, purpose, args)
    }

    /// Redeems as `from`. Returns the chain's reason when it refuses.
    pub(crate) async fn redeem_as(
        &self,
        from: Account,
        entries: &[Entry],
    ) -> Result<TransactionReceipt, String> {
        self.send(from, MANAGER, &redemption(entries)).await
    }

    pub(crate) async fn redeem(&self, entries: &[Entry]) -> Result<TransactionReceipt, String> {
        self.redeem_as(REDEEMER, entries).await
    }

    /// Sends a transaction and waits for its block. Returns the reason when it reverts.
    pub(crate) async fn send(
        &self,
        from: Account,
        to: Address,
        data: &Bytes,
    ) -> Result<TransactionReceipt, String> {
        let call =
            json!([{"from": from.address, "to": to, "data": data, "gas": "0x4c4b40"}, "latest"]);
        let foreseen: Result<Bytes, _> = self.chain.rpc().call("eth_call", call).await;
        let receipt = self.chain.transact(from, to, data).await.unwrap();
        if receipt.status.is_zero() {
            return Err(reason(foreseen.unwrap_err()));
        }
        Ok(receipt)
    }

    pub(crate) async fn send_call(
        &self,
        call: &UnsentTransaction,
    ) -> Result<TransactionReceipt, String> {
        assert_eq!(call.chain_id, CHAIN_ID);
        let from = [HOLDER, REDEEMER]
            .into_iter()
            .find(|a| a.address == call.from);
        self.send(from.unwrap(), call.to, &call.data).await
    }

    pub(crate) async fn allowance(&self, token: Address) -> U256 {
        let call = allowanceCall {
            owner: HOLDER.address,
            spender: ROUTER,
        };
        self.chain.rpc().view(token, &call).await.unwrap()
    }

    pub(crate) async fn balance(&self, token: Address, account: Address) -> U256 {
        base_chain::balance(self.chain.rpc(), token, account).await
    }

    /// The account's balances of USDC and WETH, and the router's allowances of both.
    pub(crate) async fn holdings(&self) -> [U256; 4] {
        [
            self.balance(USDC, HOLDER.address).await,
            self.balance(WETH, HOLDER.address).await,
            self.allowance(USDC).await,
            self.allowance(WETH).await,
        ]
    }

    /// Asserts that the chain refuses an attack for this reason, and that nothing changes.
    pub(crate) async fn refused(&self, entries: &[Entry], expected: &str) {
        self.refused_as(REDEEMER, entries, expected).await;
    }

    pub(crate) async fn refused_as(&self, from: Account, entries: &[Entry], expected: &str) {
        let before = self.holdings().await;
        let observed = self.redeem_as(from, entries).await.unwrap_err();
        assert_eq!(observed, expected);
        assert_eq!(self.holdings().await, before, "{expected}");
    }

    pub(crate) async fn approve(&self, token: Address, amount: U256) {
        let call = approveCall {
            spender: ROUTER,
            amount,
        };
        let call = call.abi_encode().into();
        self.send(HOLDER, token, &call).await.unwrap();
    }

    pub(crate) async fn mint(&self, token: Address, to: Address, amount: U256) {
        let call = TestToken::mintCall { to, amount };
        self.chain
            .send(Account::MINTER, token, &call)
            .await
            .unwrap();
    }

    /// Sets the venue's price for a token.
    pub(crate) async fn rate(&self, from: Address, to: Address, numerator: u64, denominator: u64) {
        let call = setRateCall {
            tokenIn: from,
            tokenOut: to,
            numerator: U256::from(numerator),
            denominator: U256::from(denominator),
        };
        self.chain
            .send(Account::MINTER, EXCHANGE, &call)
            .await
            .unwrap();
    }

    /// Makes the attacker's contract a venue of the router, and sets the call that the contract
    /// makes.
    pub(crate) async fn interpose(&self, target: Address, data: Bytes) {
        let allow = setAllowedCall {
            target: INTERPOSED,
            selector: snwapCall::SELECTOR.into(),
            isAllowed: true,
        };
        self.chain
            .send(Account::MINTER, ROUTER, &allow)
            .await
            .unwrap();
        self.chain
            .send(STRANGER, INTERPOSED, &storeCall { target, data })
            .await
            .unwrap();
    }

    /// The Unix time of the newest block.
    pub(crate) async fn time(&self) -> u64 {
        let block: Value = self
            .chain
            .rpc()
            .call("eth_getBlockByNumber", json!(["latest", false]))
            .await
            .unwrap();
        let text = block["timestamp"].as_str().unwrap();
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    }

    pub(crate) async fn pass_time(&self, seconds: u64) {
        for (method, params) in [
            ("evm_increaseTime", json!([seconds])),
            ("evm_mine", json!([])),
        ] {
            let _: Value = self.chain.rpc().call(method, params).await.unwrap();
        }
    }

    /// The order for a call, with a deadline in an hour.
    pub(crate) async fn order(&self, call: &Bytes, minimum: U256) -> Order {
        Order {
            account: HOLDER.address,
            grant_id: self.grant.message().grant_id,
            payload_digest: keccak256([call.as_ref(), &minimum.to_be_bytes::<32>()].concat()),
            call_hash: keccak256(call),
            output_token: WETH,
            min_amount_out: minimum,
            deadline: self.time().await + 3_600,
        }
    }

    pub(crate) fn sign_order(&self, order: &Order) -> Signed<Order> {
        sign_order_in(self.grant.domain().clone(), order, DELEGATE)
    }
}

pub(crate) fn sign_order_in(domain: Domain, order: &Order, key: Account) -> Signed<Order> {
    let typed_data = TypedData::new(domain, order.clone()).unwrap();
    let signature = sign(key, typed_data.digest());
    Signed::new(typed_data, signature)
}

pub(crate) fn grant(policy: &Policy, account: Address, cap: u64) -> TypedData<Grant> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = now.as_secs() - 60;
    let grant = Grant {
        account,
        account_kind: AccountKind::Eoa7702,
        chain_id: CHAIN_ID,
        policy_name: policy.name().clone(),
        rules_digest: policy.digest(),
        project_id: Name::new("shop").unwrap(),
        capability: policy.capability().clone(),
        delegate: DELEGATE.address,
        per_swap_cap: U256::from(cap),
        grant_id: B256::repeat_byte(0x22),
        issued_at: now,
        not_before: now,
        expires_at: now + 90 * 86_400,
    };
    TypedData::new(Domain::new(CHAIN_ID, B256::repeat_byte(0x11)), grant).unwrap()
}

/// The delegations of a grant, signed by its account.
pub(crate) fn delegate(
    grant: &TypedData<Grant>,
    policy: &Policy,
    level: Level,
    account: Account,
    nonce: U256,
) -> ChainGrant {
    delegate_terms(
        &ChainTerms {
            grant,
            policy,
            redeemer: REDEEMER.address,
            level,
            nonce,
        },
        account,
    )
}

pub(crate) fn delegate_terms(terms: &ChainTerms<'_>, account: Account) -> ChainGrant {
    let signed: Vec<_> = terms
        .delegations()
        .unwrap()
        .into_iter()
        .map(|(_, delegation)| {
            let signature = sign(account, delegation.digest(CHAIN_ID));
            delegation.sign_with(signature)
        })
        .collect();
    terms.accept(&signed).unwrap()
}

/// A delegation in the form of the manager's arguments.
pub(crate) fn raw(delegations: &ChainGrant, purpose: Purpose, args: &Bytes) -> Delegation {
    let (_, signed) = delegations
        .delegations()
        .iter()
        .find(|(known, _)| *known == purpose)
        .unwrap();
    let delegation = &signed.delegation;
    Delegation {
        delegate: delegation.delegate,
        delegator: delegation.delegator,
        authority: B256::repeat_byte(0xff),
        caveats: delegation
            .caveats
            .iter()
            .map(|caveat| Caveat {
                enforcer: caveat.enforcer,
                terms: caveat.terms.clone(),
                args: args.clone(),
            })
            .collect(),
        salt: delegation.salt,
        signature: Bytes::copy_from_slice(signed.signature.as_bytes()),
    }
}

pub(crate) fn context(delegations: &ChainGrant, purpose: Purpose, args: &Bytes) -> Bytes {
    vec![raw(delegations, purpose, args)].abi_encode().into()
}

pub(crate) fn redemption(entries: &[Entry]) -> Bytes {
    let call = redeemDelegationsCall {
        contexts: entries.iter().map(|entry| entry.context.clone()).collect(),
        modes: entries.iter().map(|entry| entry.mode).collect(),
        executions: entries
            .iter()
            .map(|entry| entry.execution.clone())
            .collect(),
    };
    call.abi_encode().into()
}

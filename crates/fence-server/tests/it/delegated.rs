//! Accounts whose delegations the chain enforces too.

use alloy_primitives::{Address, B256, U256};
use delegation_fence::onchain::{ChainGrant, Delegation, GrantFile, Level};
use delegation_fence::{Grant, Novelty, Phase, Revocation, Signed};
use fence_server::Delegations;

use crate::{
    onchain::{
        ChainAnswers, LEVELS, Node, REDEEMER, account, delegated_desk, delegated_grant,
        delegated_order, delegations, edited, file,
    },
    sample::{ACCOUNT, NOW, USDC, WETH},
    stage::{GRANT_ID, StoreLocation, grant, now, owner, sign},
    world::{Clock, Custody, code, ordered},
};

const AMOUNT: u64 = 1_000_000_007;

struct World {
    location: StoreLocation,
    node: Node,
    custody: Custody,
    desk: Delegations,
}

async fn world(level: Level) -> World {
    let location = StoreLocation::new();
    let (custody, node) = (Custody::delegated(), Node::new(level));
    let store = location.open();
    let desk = delegated_desk(store, &Clock::new(), &custody, &node).await;
    World {
        location,
        node,
        custody,
        desk,
    }
}

fn revocation() -> Signed<Revocation> {
    let message = Revocation {
        account: account(),
        ..crate::stage::revocation(GRANT_ID, NOW).message().clone()
    };
    sign(message, &owner())
}

/// Lets the seconds pass in which free readings of the chain are shared.
async fn after_the_shared_seconds() {
    test_support::skip(std::time::Duration::from_secs(4)).await;
}

#[tokio::test]
async fn a_permission_is_over_when_the_chain_says_so_too() {
    for level in LEVELS {
        let world = world(level).await;
        let desk = &world.desk;
        let file = file(delegated_grant(GRANT_ID), level);
        for novelty in [Novelty::New, Novelty::Again] {
            let received = desk.receive_grant(file.clone()).await.unwrap();
            assert_eq!(received.novelty, novelty);
        }
        let kept = world.location.open().view(account(), GRANT_ID, None).await;
        let kept = kept.unwrap().grant.unwrap();
        assert_eq!(kept.delegations, file.delegations);

        let plan = delegated_order(AMOUNT, GRANT_ID);
        let submitted = desk.submit(&plan).await.unwrap();
        assert_eq!(submitted.kept.admitted.as_one, level != Level::Stock);

        let state = desk.grant_state(account(), GRANT_ID).await.unwrap();
        let read = state.on_chain.unwrap();
        assert_eq!(
            (read.disabled, read.block),
            (false, Some(world.node.block()))
        );
        desk.receive_revocation(revocation()).await.unwrap();
        after_the_shared_seconds().await;
        let grant = ChainGrant::restore(file.signed.typed_data(), &file.delegations).unwrap();
        for hash in grant.ending() {
            let read = desk.on_chain(account(), GRANT_ID).await.unwrap().unwrap();
            assert!(!read.disabled);
            let already = desk.grant_state(account(), GRANT_ID).await.unwrap();
            assert_eq!(already.on_chain, Some(read.clone()));
            let next = grant.disable_each(&[]);
            assert!(next.contains(&read.disable.unwrap()));
            world.node.change(|answers| answers.disabled.push(hash));
            after_the_shared_seconds().await;
        }
        let read = desk.on_chain(account(), GRANT_ID).await.unwrap().unwrap();
        assert_eq!((read.disabled, read.disable), (true, None));
        assert_eq!(read.block, Some(world.node.block()));
        // A delegation that is enabled again is in force on the chain.
        world.node.change(|answers| answers.disabled.clear());
        after_the_shared_seconds().await;
        let read = desk.on_chain(account(), GRANT_ID).await.unwrap().unwrap();
        assert!(!read.disabled && read.disable.is_some());
        assert_eq!(desk.on_chain(account(), B256::ZERO).await, Ok(None));
    }
}

#[tokio::test]
async fn delegations_are_compared_with_the_grant_and_the_chain() {
    for level in LEVELS {
        let world = world(level).await;
        let desk = &world.desk;
        let good = file(delegated_grant(GRANT_ID), level);
        let mut fewer = good.clone();
        fewer.delegations.pop();
        let mut more = good.clone();
        let other = file(delegated_grant(B256::repeat_byte(0x23)), level);
        more.delegations.push(other.delegations[0].clone());
        let mut foreign = good.clone();
        foreign.delegations[0].signature = foreign.delegations[1].signature;
        let mut counted = good.clone();
        counted.delegations = delegations(&good.signed, REDEEMER, level, 1);
        let mut redeemer = good.clone();
        redeemer.delegations = delegations(&good.signed, Address::repeat_byte(0x98), level, 0);
        let other_level = LEVELS.into_iter().find(|other| *other != level).unwrap();
        let mut of_other_level = good.clone();
        of_other_level.delegations = delegations(&good.signed, REDEEMER, other_level, 0);
        let with = |edit: fn(&mut Delegation)| edited(&good, edit);
        let not_own = sign(grant(GRANT_ID), &owner());
        let sub_wallet = GrantFile {
            delegations: good.delegations.clone(),
            signed: not_own,
        };
        let of = |edit: fn(&mut Grant)| {
            let mut grant = delegated_grant(GRANT_ID);
            edit(&mut grant);
            GrantFile {
                delegations: good.delegations.clone(),
                signed: sign(grant, &owner()),
            }
        };
        for (file, expected) in [
            (fewer, "delegations_missing"),
            (good.signed.clone().into(), "delegations_missing"),
            (more, "delegation_unexpected"),
            (sub_wallet, "delegation_unexpected"),
            (foreign, "delegation_not_by_account"),
            (counted, "delegation_caveat_terms"),
            (redeemer, "delegation_redeemer_mismatch"),
            (of_other_level, "delegations_missing"),
            (
                with(|delegation| delegation.delegator = ACCOUNT),
                "delegation_delegator_mismatch",
            ),
            (
                with(|delegation| drop(delegation.caveats.pop())),
                "delegation_caveat_missing",
            ),
            (
                with(|delegation| delegation.caveats.swap(0, 1)),
                "delegation_caveat_unexpected",
            ),
            (
                with(|delegation| delegation.caveats[0].terms = vec![0; 32].into()),
                "delegation_caveat_terms",
            ),
            (
                of(|grant| grant.delegate = REDEEMER),
                "grant_delegate_is_service",
            ),
            // The delegate is a wallet of custody.
            (
                of(|grant| grant.delegate = ACCOUNT),
                "grant_delegate_is_service",
            ),
        ] {
            let refused = desk.receive_grant(file).await;
            assert_eq!(code(refused), expected, "{level:?}");
        }
        let received = || async { code(desk.receive_grant(good.clone()).await) };
        world.node.change(|answers| answers.code.clear());
        assert_eq!(received().await, "account_code_mismatch");
        world
            .node
            .change(|answers| *answers = ChainAnswers::fresh());
        world.node.change(|answers| answers.nonce = 1);
        assert_eq!(received().await, "delegation_caveat_terms");
        world
            .node
            .change(|answers| *answers = ChainAnswers::fresh());
        let hash = good.delegations[0].delegation.hash();
        world.node.change(|answers| answers.disabled.push(hash));
        assert_eq!(received().await, "delegation_disabled");
        for token in [USDC, WETH] {
            world
                .node
                .change(|answers| *answers = ChainAnswers::fresh());
            world
                .node
                .change(|answers| answers.allowances.extend([(token, 1)]));
            let expected = match level {
                Level::Stock => "router_allowance_open",
                Level::Enforcer(_) => "ok",
            };
            assert_eq!(received().await, expected);
        }
        world
            .node
            .change(|answers| *answers = ChainAnswers::fresh());
        world.node.change(|answers| answers.is_away = true);
        assert_eq!(received().await, "chain_unavailable");
        world.node.change(|answers| answers.is_away = false);
        assert_eq!(received().await, "ok");
        // The grant is known, and comes with other delegations: the account has counted up, and
        // signed again.
        world.node.change(|answers| answers.nonce = 1);
        let mut again = good.clone();
        again.delegations = delegations(&good.signed, REDEEMER, level, 1);
        assert_eq!(code(desk.receive_grant(again).await), "grant_id_taken");
    }
}

/// The server reads the chain before it accepts a plan and before each of its steps.
#[tokio::test]
async fn the_present_state_of_the_chain_counts_before_each_step() {
    for level in LEVELS {
        let world = world(level).await;
        let desk = &world.desk;
        let good = file(delegated_grant(GRANT_ID), level);
        desk.receive_grant(good.clone()).await.unwrap();
        let plan = delegated_order(AMOUNT, GRANT_ID);
        let kept = desk.submit(&plan).await.unwrap().kept;
        let confirmed = |phase| {
            let (desk, kept) = (desk, kept.clone());
            async move { code(desk.confirm_again(&kept, phase, now()).await) }
        };
        for phase in [Phase::Begin, Phase::GoOn] {
            assert_eq!(confirmed(phase).await, "ok");
            world.node.change(|answers| answers.code.clear());
            assert_eq!(confirmed(phase).await, "account_code_mismatch");
            world
                .node
                .change(|answers| *answers = ChainAnswers::fresh());
            world.node.change(|answers| answers.nonce = 1);
            assert_eq!(confirmed(phase).await, "delegation_nonce_mismatch");
            for signed in &good.delegations {
                world
                    .node
                    .change(|answers| *answers = ChainAnswers::fresh());
                let hash = signed.delegation.hash();
                world.node.change(|answers| answers.disabled.push(hash));
                assert_eq!(confirmed(phase).await, "delegation_disabled");
            }
            world
                .node
                .change(|answers| *answers = ChainAnswers::fresh());
            world.node.change(|answers| answers.is_away = true);
            assert_eq!(confirmed(phase).await, "chain_unavailable");
            world
                .node
                .change(|answers| *answers = ChainAnswers::fresh());
        }
        // A plan that is over, or under a revoked grant, is refused without a chain.
        world.node.change(|answers| answers.is_away = true);
        desk.receive_revocation(revocation()).await.unwrap();
        let kept = desk.store().submission(kept.admitted.payload_digest).await;
        let kept = kept.unwrap().unwrap();
        let refused = desk.confirm_again(&kept, Phase::GoOn, now()).await;
        assert_eq!(code(refused), "grant_revoked");
        // The chain's state is unknown, and the answer says so.
        let state = desk.grant_state(account(), GRANT_ID).await.unwrap();
        let read = state.on_chain.unwrap();
        assert_eq!(
            (state.state, read.disabled, read.block),
            ("revoked", false, None)
        );
        assert!(read.disable.is_some());
    }
}

/// The stock enforcers limit an approval to 2^32 - 1 atoms. A service whose redemption differs from
/// the delegations redeems nothing.
#[tokio::test]
async fn a_plan_goes_out_only_as_its_delegations_say() {
    let world = world(Level::Stock).await;
    let good = file(delegated_grant(GRANT_ID), Level::Stock);
    world.desk.receive_grant(good).await.unwrap();
    let most = u64::from(u32::MAX);
    let above = delegated_order(most + 1, GRANT_ID);
    assert_eq!(code(world.desk.try_out(&above).await), "delegation_cap");
    let within = delegated_order(most, GRANT_ID);
    assert_eq!(code(world.desk.try_out(&within).await), "ok");
    let store = world.location.open();
    let other = Node::new(LEVELS[1]);
    let desk = delegated_desk(store, &Clock::new(), &world.custody, &other).await;
    assert_eq!(
        code(desk.try_out(&within).await),
        "delegation_redeemer_mismatch"
    );
}

#[tokio::test]
async fn a_server_without_a_redeemer_takes_no_such_grant() {
    let location = StoreLocation::new();
    let (clock, custody) = (Clock::new(), Custody::delegated());
    let desk = crate::world::desk(location.open(), 1, &clock, &custody).await;
    let good = file(delegated_grant(GRANT_ID), Level::Stock);
    let refused = desk.receive_grant(good).await;
    assert_eq!(code(refused), "account_kind_unsupported");
}

/// A file of a server without delegations reads as grants without delegations, and an open plan in
/// it belongs to the person who signed its grant.
#[tokio::test]
async fn records_of_an_earlier_version_are_taken_over() {
    let location = StoreLocation::in_file();
    let clock = Clock::new();
    {
        let store = location.open();
        let desk = crate::world::desk(store, 1, &clock, &Custody::new()).await;
        let signed = sign(grant(GRANT_ID), &owner());
        desk.receive_grant(signed).await.unwrap();
        desk.submit(&ordered(AMOUNT, GRANT_ID)).await.unwrap();
    }
    let sql = "DROP INDEX submission_open_of_owner; ALTER TABLE submission DROP COLUMN owner; \
               DROP INDEX ending_over; DROP INDEX ending_of_account; DROP INDEX ending_of_pool; \
               DROP INDEX permission_issued; ALTER TABLE ending DROP COLUMN kept_until; \
               ALTER TABLE ending DROP COLUMN pool; ALTER TABLE ending DROP COLUMN records; \
               ALTER TABLE permission DROP COLUMN delegations; PRAGMA user_version = 2;";
    let connection = rusqlite::Connection::open(location.file()).unwrap();
    connection.execute_batch(sql).unwrap();
    drop(connection);
    drop(location.open());
    let connection = rusqlite::Connection::open(location.file()).unwrap();
    let read = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
    let signer: String = connection
        .query_row("SELECT owner FROM submission WHERE is_open = 1", [], read)
        .unwrap();
    assert_eq!(signer, owner().address().to_string());
    drop(connection);
    let view = location.open().view(ACCOUNT, GRANT_ID, None).await.unwrap();
    let kept = view.grant.unwrap();
    assert_eq!(kept.delegations, Vec::new());
    assert_eq!(
        kept.signed.message().per_swap_cap,
        U256::from(5_000_000_000_u64)
    );
}

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use proptest::prelude::*;

use super::*;

/// The Lease of an API server that can be cut off.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<(Option<Lease>, u64)>>);

impl Server {
    fn put(&self, mut lease: Lease, expected: Option<&str>) -> Result<Lease, LeaseError> {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let present = stored
            .0
            .as_ref()
            .and_then(|lease| lease.metadata.resource_version.clone());
        if present.as_deref() != expected {
            return Err(LeaseError::Conflict);
        }
        stored.1 += 1;
        lease.metadata.resource_version = Some(stored.1.to_string());
        stored.0 = Some(lease.clone());
        Ok(lease)
    }

    fn lease(&self) -> Option<Lease> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn holder(&self) -> Option<String> {
        self.lease().as_ref().and_then(holder).map(str::to_owned)
    }
}

/// One replica's way to the server.
#[derive(Clone, Default)]
struct Line {
    server: Server,
    is_cut: Arc<Mutex<bool>>,
}

impl Line {
    fn check(&self) -> Result<(), LeaseError> {
        if *self.is_cut.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(LeaseError::Timeout);
        }
        Ok(())
    }
}

impl Leases for Line {
    async fn get(&self) -> Result<Option<Lease>, LeaseError> {
        self.check()?;
        Ok(self.server.lease())
    }

    async fn create(&self, spec: LeaseSpec) -> Result<Lease, LeaseError> {
        self.check()?;
        let lease = Lease {
            spec: Some(spec),
            ..Lease::default()
        };
        self.server.put(lease, None)
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, LeaseError> {
        self.check()?;
        let expected = lease.metadata.resource_version.clone();
        self.server.put(lease.clone(), expected.as_deref())
    }
}

const ELECTION: fn() -> LeaderElection = LeaderElection::default;

/// A replica whose time is the test's.
struct Replica {
    candidate: Candidate<Line>,
    line: Line,
    leads_until: Option<Instant>,
    has_lost: bool,
}

impl Replica {
    fn new(server: &Server, identity: &str) -> Self {
        let line = Line {
            server: server.clone(),
            ..Line::default()
        };
        let candidate = Candidate {
            leases: line.clone(),
            identity: identity.to_owned(),
            timing: Timing::of(&ELECTION()),
            seen: None,
            held: None,
        };
        Self {
            candidate,
            line,
            leads_until: None,
            has_lost: false,
        }
    }

    /// One try at `now`, as while waiting for the Lease and while holding it.
    fn try_at(&mut self, now: Instant) {
        if self.has_lost {
            return;
        }
        if self.leads_until.is_some_and(|until| until <= now) {
            (self.has_lost, self.leads_until) = (true, None);
            return;
        }
        match self.candidate.try_acquire_or_renew(|| now).now_or_never() {
            Some(Ok(LeaseAttempt::Mine(since))) => {
                self.leads_until = Some(since + self.candidate.timing.renew_deadline);
            }
            Some(Ok(LeaseAttempt::Theirs(_))) => {
                self.has_lost = self.leads_until.is_some();
                self.leads_until = None;
            }
            Some(Err(_)) | None => {}
        }
    }

    fn leads(&self, now: Instant) -> bool {
        self.leads_until.is_some_and(|until| now < until)
    }

    fn cut(&self, is_cut: bool) {
        *self.line.is_cut.lock().unwrap() = is_cut;
    }
}

proptest! {
    #[test]
    fn never_do_two_replicas_lead_at_once(
        steps in prop::collection::vec((0_u64..4_000, 0_usize..3, any::<bool>(), any::<bool>()), 1..200),
    ) {
        let server = Server::default();
        let mut replicas = ["a", "b", "c"].map(|identity| Replica::new(&server, identity));
        let mut now = Instant::now();
        for (pause, which, looks, is_cut) in steps {
            now += Duration::from_millis(pause);
            replicas[which].cut(is_cut);
            if looks {
                replicas[which].try_at(now);
            }
            let leaders = replicas.iter().filter(|replica| replica.leads(now)).count();
            prop_assert!(leaders <= 1, "{leaders} replicas lead");
        }
    }

    #[test]
    fn when_the_leader_dies_another_leads_within_the_lease_time(seen_late in 0_u64..2_000, died_late in 0_u64..2_000) {
        let server = Server::default();
        let (mut first, mut second) = (Replica::new(&server, "a"), Replica::new(&server, "b"));
        let start = Instant::now();
        first.try_at(start);
        prop_assert!(first.leads(start));
        let death = start + Duration::from_millis(died_late);
        let pause = second.candidate.timing.pause;
        let mut now = start + Duration::from_millis(seen_late);
        while !second.leads(now) {
            second.try_at(now);
            now += if second.leads(now) { Duration::ZERO } else { pause.min(Duration::from_millis(100)) };
        }
        prop_assert!(now <= death + ELECTION().duration() + Duration::from_millis(100));
        prop_assert!(!first.leads(now));
    }
}

#[test]
fn a_leader_that_cannot_renew_stops_before_another_may_begin() {
    let server = Server::default();
    let (mut first, mut second) = (Replica::new(&server, "a"), Replica::new(&server, "b"));
    let start = Instant::now();
    first.try_at(start);
    second.try_at(start);
    first.cut(true);
    assert!(first.leads(start + Duration::from_secs(9)));
    assert!(!first.leads(start + Duration::from_secs(10)));
    second.try_at(start + Duration::from_secs(12));
    assert!(!second.leads(start + Duration::from_secs(12)));
    second.try_at(start + Duration::from_secs(13));
    assert!(second.leads(start + Duration::from_secs(13)));
    assert_eq!(server.lease().unwrap().spec.unwrap().lease_transitions, Some(2));
}

#[test]
fn a_renewed_lease_is_not_taken_however_old_its_clock_says_it_is() {
    let server = Server::default();
    let (mut first, mut second) = (Replica::new(&server, "a"), Replica::new(&server, "b"));
    let start = Instant::now();
    for second_of in 0..60 {
        let now = start + Duration::from_secs(second_of);
        first.try_at(now);
        second.try_at(now);
        assert!(first.leads(now) && !second.leads(now));
    }
}

#[test]
fn the_same_pod_goes_on_with_its_lease_at_once() {
    let server = Server::default();
    let now = Instant::now();
    let mut before = Replica::new(&server, "pod-1");
    before.try_at(now);
    drop(before);
    let mut after = Replica::new(&server, "pod-1");
    after.try_at(now);
    assert!(after.leads(now));
    assert_eq!(server.lease().unwrap().spec.unwrap().lease_transitions, Some(1));
}

#[test]
fn a_lease_that_another_took_by_force_is_lost_at_the_next_renewal() {
    let server = Server::default();
    let mut first = Replica::new(&server, "a");
    let now = Instant::now();
    first.try_at(now);
    let mut stolen = server.lease().unwrap();
    stolen.spec.as_mut().unwrap().holder_identity = Some("b".to_owned());
    let version = stolen.metadata.resource_version.clone();
    server.put(stolen, version.as_deref()).unwrap();
    first.try_at(now);
    first.try_at(now);
    assert!(first.has_lost && !first.leads(now));
}

#[tokio::test]
async fn a_lease_that_is_given_back_is_taken_by_the_next() {
    let line = Line::default();
    // Long times: nothing of this test may end by them.
    let election = LeaderElection {
        duration_seconds: 120,
        grace_seconds: 1,
        ..ELECTION()
    };
    let mut first = Leadership::campaign_in(line.clone(), "a", &election);
    first.won().await;
    assert!(first.lead().is_held());
    let mut second = Leadership::campaign_in(line.clone(), "b", &election);
    assert!(!second.lead().is_held());
    let lost = first.lost();
    first.release().await;
    assert!(!lost.is_cancelled(), "given back is not lost");
    second.won().await;
    assert_eq!(line.server.holder().as_deref(), Some("b"));
    second.release().await;
    assert_eq!(line.server.holder().as_deref(), Some(""));
}

#[tokio::test]
async fn a_replica_cut_off_from_the_api_server_loses_leadership() {
    let line = Line::default();
    let election = LeaderElection {
        duration_seconds: 2,
        grace_seconds: 1,
        ..ELECTION()
    };
    let mut only = Leadership::campaign_in(line.clone(), "a", &election);
    only.won().await;
    *line.is_cut.lock().unwrap() = true;
    only.lost().cancelled().await;
    assert!(!only.lead().is_held());
    only.release().await;
}

#[tokio::test]
async fn without_an_election_the_only_replica_leads_always() {
    let mut only = Leadership::always();
    only.won().await;
    assert!(only.lead().is_held());
    only.release().await;
}

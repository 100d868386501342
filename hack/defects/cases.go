package main

// defectCase is a defect that this project had or nearly had, and a test that finds it.
type defectCase struct {
	name  string
	edits []codeEdit
	// folder has the test, which is a function or function/subtest.
	folder, test string
}

// Folders that several defects are in.
const (
	streamFolder   = "services/internal/engine/stream"
	rewriteFolder  = "services/internal/engine/rewrite"
	mongoFolder    = "services/internal/store/mongostore"
	pebbleFolder   = "services/internal/store/pebblestore"
	documentFolder = "services/internal/engine/document"
	apiFolder      = "services/internal/face/httpapi"
	operations     = "services/internal/operation"
	liveFolder     = "services/internal/feed/live"
	sinkFolder     = "services/internal/feed/sink"
	votingFolder   = "services/voting"
	eventFolder    = "services/internal/feed/event"
	peerFolder     = "services/internal/cluster/peer"
	rankingFolder  = "services/ranking"
	appFolder      = "services/internal/process/app"
	gameFolder     = "services/internal/face/gamelink"
	desiredFolder  = "operator/internal/desired"
)

func defectCases() []defectCase {
	all := streamDefects()
	all = append(all, ownerDefects()...)
	all = append(all, storeDefects()...)
	all = append(all, documentDefects()...)
	all = append(all, eventDefects()...)
	all = append(all, hiddenDefects()...)
	all = append(all, answerDefects()...)
	all = append(all, worldDefects()...)
	all = append(all, strictDefects()...)
	all = append(all, votingDefects()...)
	all = append(all, maintenanceDefects()...)
	all = append(all, lastWordDefects()...)
	all = append(all, keyDefects()...)
	all = append(all, operatorDefects()...)
	all = append(all, tenantDefects()...)
	all = append(all, resultDefects()...)
	all = append(all, pictureDefects()...)
	return append(all, accessDefects()...)
}

func streamDefects() []defectCase {
	return []defectCase{
		{"a duplicate key is believed before its chunk can be read", []codeEdit{
			{streamFolder, "streamLog.commitChunk", "err == nil && l.head.Seq >= chunk.Seq", "err == nil"},
		}, streamFolder, "TestOccupantThatCannotBeReadYet"},
		{"callers wait behind an append whose outcome stays unknown", []codeEdit{
			{streamFolder, "streamLog.pauseSettling", "fault.NothingStored(err) || took > settlePatience", "fault.NothingStored(err)"},
		}, streamFolder, "TestNobodyWaitsBehindAnUnsettledAppend"},
		{"a read waits for an append of its batch whose outcome stays unknown", []codeEdit{
			{streamFolder, "streamLog.refuseWaiting", "len(it.Value.commands) == 0", "false"},
		}, streamFolder, "TestReadBesideAnUnsettledAppend"},
		{"calls wait behind a forwarded group whose outcome stays unknown", []codeEdit{
			{streamFolder, "forwardPatience", "2 * queueTimeout", "time.Hour"},
		}, streamFolder, "TestNobodyWaitsBehindAForwardedGroup"},
		{"a command is refused by a state that is past", []codeEdit{
			{streamFolder, "streamLog.handleBatch", "l.refreshState(ctx)", "false, error(nil)"},
		}, streamFolder, "TestSimulation"},
		{"a later truncation gets the checksum of an earlier one", []codeEdit{
			{rewriteFolder, "logRedaction.ensureChecksum", "r.checkpoint >= begun", "false"},
		}, rewriteFolder, "TestPausedProcessMeetsALaterTruncation"},
		{"a change of a configuration is sent to a process that does not read it", []codeEdit{
			{streamFolder, "Engine.DoAtFrom", "!e.options.AllRead(level)", "false"},
		}, votingFolder, "TestChangesBesideEarlierReleases"},
		{"a game that reconfigures a poll undoes what staff has changed", []codeEdit{
			{gameFolder, "connection.reconfigurePoll", "c.patchPoll(c.ctx, id, patch)", "c.replacePoll(c.ctx, id, patch)"},
		}, gameFolder, "TestReconfigureKeepsWhatStaffChanges"},
		{"a snapshot that is being written brings an erased id back", []codeEdit{
			{streamFolder, "streamLog.saveSnapshot", "l.folds == fold", "l.folds >= fold"},
		}, rewriteFolder, "TestEraseMeetsASnapshotBeingWritten"},
		{"an erasure ends before a snapshot that holds the viewer is written", []codeEdit{
			{streamFolder, "Engine.Refresh", "e.waitForSnapshot(ctx)", "nil"},
		}, rewriteFolder, "TestEraseMeetsASnapshotBeingWritten"},
		{"an erasure leaves a snapshot from before it", []codeEdit{
			{rewriteFolder, "logRedaction.dropOldSnapshot", "r.last == 0", "r.last >= 0"},
		}, rewriteFolder, "TestEraseMeetsALateSnapshot"},
		{"times fall when the clock steps back", []codeEdit{
			{streamFolder, "streamLog.nextTime", "max(l.engine.clock.Now().UnixMilli(), l.earliestTime())", "l.engine.clock.Now().UnixMilli()"},
		}, streamFolder, "TestTimesRiseWhileTheClockStepsBack"},
		{"a group that arrives twice is counted twice", []codeEdit{
			{streamFolder, "chunkDraft.findGroup", "stored, known = d.log.window.stored[g.id]", "stored, known = nil, false"},
		}, streamFolder, "TestSimulation"},
		{"a group that was refused counts when its first request arrives late", []codeEdit{
			{streamFolder, "chunkDraft.addGroup", "len(d.entries) > before || c.group.recovery", "len(d.entries) > before"},
		}, streamFolder, "TestRefusedCommandWhoseRequestIsLate"},
		{"an answer that was lost is taken for a request that was not sent", []codeEdit{
			{peerFolder, "clientConn.failLocked", "x.at >= begun", "begun >= 0"},
		}, peerFolder, "TestLostAnswerLeavesTheOutcomeOpen"},
		{"a silent peer holds its requests while the connection stands", []codeEdit{
			{peerFolder, "clientConn.checkLife", "c.quiet >= int(silence/tick)", "false"},
		}, peerFolder, "TestSignsOfLife"},
		{"a peer that takes nothing lets memory grow", []codeEdit{
			{peerFolder, "frameWriter.addWhenRoom", "len(w.waiting)+len(rest) <= answersWaiting", "true"},
		}, peerFolder, "TestAnswersWaitingAreBounded"},
		{"a slow stream holds up the others of its request", []codeEdit{
			{streamFolder, "Engine.Serve", "places := takeFinished(ctx, finished, left)", "places := takeFinished(ctx, finished, left)\n\t\tfor len(places) < left {\n\t\t\tplaces = append(places, <-finished)\n\t\t}"},
		}, streamFolder, "TestSlowStreamHoldsNoneOfItsRequest"},
		{"requests that hold only hung streams hold up all others", []codeEdit{
			{streamFolder, "countedFor", "100 * time.Millisecond", "time.Hour"},
		}, streamFolder, "TestHungStreamsHoldNoOthers"},
	}
}

func ownerDefects() []defectCase {
	return []defectCase{
		{"a new owner gives up its first callers after a number of races", []codeEdit{
			{streamFolder, "streamLog.handleBatch", "l.engine.clock.Now().Sub(began) < contentionPatience", "attempt < 300 && !began.IsZero()"},
		}, streamFolder, "TestOwnersOverlap"},
		{"a new owner reads thousands of chunks while its callers wait", []codeEdit{
			{streamFolder, "streamLog.applyChunk", "chunkOverhead", "128"},
		}, streamFolder, "TestSnapshotsAreFrequent"},
		{"a log shows a chunk before it is durable", []codeEdit{
			{streamFolder, "Engine.Chunks", "chunk.Seq > last", "chunk.Seq > last+1"},
		}, streamFolder, "TestChunksLeavesOutWhatIsNotDurable"},
	}
}

func votingDefects() []defectCase {
	return []defectCase{
		{"an erasure sets the number of a poll's deletions to 0", []codeEdit{
			{votingFolder, "pollRules.Rename", "resets: s.resets", "resets: 0"},
		}, votingFolder, "TestRedactedHistoriesAddUpToTheSame"},
		{"the half-life of sums is not that of the log", []codeEdit{
			{votingFolder, "HalfLife", "time.Minute", "2 * time.Minute"},
		}, votingFolder, "TestDecay"},
	}
}

func storeDefects() []defectCase {
	return []defectCase{
		{"a duplicate key that no majority confirms is a conflict", []codeEdit{
			{mongoFolder, "insertResult", "mongo.IsDuplicateKeyError(failure.WriteError) && result.WriteConcernError != nil", "false"},
		}, mongoFolder, "TestOutcome"},
		{"a lookup asks every shard", []codeEdit{
			{mongoFolder, "Store.filterByID", "s.sharded", "false"},
		}, mongoFolder, "TestConformanceThroughRouter"},
		{"a read after an election misses what was acknowledged", []codeEdit{
			{mongoFolder, "Store.beginRead", "!s.transactions || s.sharded", "true"},
		}, mongoFolder, "TestReadAfterElectionSeesAll"},
		{"an election ends a program that starts", []codeEdit{
			{mongoFolder, "openError", "isDenied(err) || errors.Is(err, errShardKey)", "!mongo.IsNetworkError(err) && !mongo.IsTimeout(err) && !neverSent(err)"},
		}, mongoFolder, "TestOnlyDeniedAccessIsPermanent"},
		{"a writer that slept takes a version that was there before", []codeEdit{
			{mongoFolder, "Store.confirmInserted", "v >= int64(w.Expect)+1+keepVersions", "v < 0"},
		}, mongoFolder, "TestWriterThatSleptDoesNotWin"},
		{"several writes are acknowledged and one is lost", []codeEdit{
			{mongoFolder, "Store.putInSequence", "now.overtaken > 0 && now.written == 0", "now.overtaken > 0"},
		}, mongoFolder, "TestIncompleteWrite"},
		{"a write is answered before the disk has it", []codeEdit{
			{pebbleFolder, "Store.write", "Sync: b.durable", "Sync: false"},
		}, pebbleFolder, "TestPowerLoss"},
		{"a power failure leaves a marker without its manifest", []codeEdit{
			{pebbleFolder, "patientFS.Create", `strings.HasPrefix(p.PathBase(name), "marker.")`, `strings.HasPrefix(p.PathBase(name), "no marker")`},
		}, pebbleFolder, "TestMarkerIsCreatedAfterItsFileIsDurable"},
		{"a store without descriptors refuses all until it starts again", []codeEdit{
			{pebbleFolder, "Store.retry", "!isShortage(err)", "true"},
		}, pebbleFolder, "TestDiskFillsUp"},
		{"a damaged manifest is taken for an empty store, and its data is deleted", []codeEdit{
			{pebbleFolder, "Store.checkLogs", "last != s.commits", "false"},
			{pebbleFolder, "followLog", "commit > last+1", "false"},
		}, pebbleFolder, "TestEmptiedManifest"},
		{"zeros at the end of a block of a manifest hide an sstable", []codeEdit{
			{pebbleFolder, "Store.checkManifest", "end != edits.Offset()", "end < 0"},
		}, pebbleFolder, "TestLostEdit"},
		{"a program that has started keeps the garbage of its start", []codeEdit{
			{"services/internal/process/cli", "serve", "debug.FreeOSMemory()", "_ = debug.FreeOSMemory"},
		}, "services", "TestRestartLeavesNoGarbage"},
		{"the number of commits is forgotten when the log that holds them is deleted", []codeEdit{
			{pebbleFolder, "manifestFile.Sync", "_ = f.store.witness.Sync()", ""},
		}, pebbleFolder, "TestWitnessIsDurable"},
		{"a command that only reads deletes and writes files", []codeEdit{
			{pebbleFolder, "Store.openDatabase", "options.ReadOnly = s.config.access != readWrite", ""},
		}, pebbleFolder, "TestOpenToRead"},
		{"a second process gets in when LOCK is deleted", []codeEdit{
			{pebbleFolder, "openWitness", "isLocked(file.Fd())", "false"},
		}, pebbleFolder, "TestDeletedLock"},
		{"an export leaves out a stream without its first chunk", []codeEdit{
			{"services/internal/upkeep/transfer", "exporter.writeStream", "head.Seq == 0", "false"},
		}, "services/internal/upkeep/transfer", "TestExportOfDamage"},
	}
}

// keyDefects are about the keys by which requests are recognised when they are repeated.
func keyDefects() []defectCase {
	return []defectCase{
		{"the keys of a bot last a second and displace those of others", []codeEdit{
			{streamFolder, "keyRing.dropOld", "!once.IsOld(at, now)", "false"},
		}, votingFolder, "TestBotFillsOnlyItsPartOfTheRoom"},
		{"a caller with many keys takes the room of all", []codeEdit{
			{streamFolder, "chunkDraft.takeRoom", "l.keys.countOf(owner)+d.own[owner] >= free", "false"},
		}, votingFolder, "TestBotFillsOnlyItsPartOfTheRoom"},
		{"a repeated vote undoes a later one of its voter", []codeEdit{
			{streamFolder, "streamLog.addKey", "before.at != 0 && before.key != k.mark.Key", "false"},
		}, votingFolder, "TestRepetitionInASingleVotePoll"},
		{"a vote of before a reset comes back when it is repeated", []codeEdit{
			{streamFolder, "streamLog.applyEntries", "len(l.keys.held.keys) > 0 && l.keys.held.epoch != holder.KeyEpoch(l.state)", "false"},
		}, votingFolder, "TestRepetitionInASingleVotePoll"},
		{"the keys of a document that is edited often last seconds", []codeEdit{
			{documentFolder, "withKey", "len(kept) >= usualKeys && once.IsOld(kept[0].At, key.At)", "len(kept) >= usualKeys"},
		}, documentFolder, "TestKeysOfADocument"},
	}
}

func documentDefects() []defectCase {
	return []defectCase{
		{"a refusal does not wait for the edit that it rests on", []codeEdit{
			{documentFolder, "batchPlan.resultOf", "v.err != nil && (v.changes == 0 || err == nil)", "v.err != nil"},
		}, documentFolder, "TestRefusalWaitsForWhatItRestsOn"},
		{"several documents are in conflict although one is written", []codeEdit{
			{documentFolder, "Service.completeWrites", "errors.Is(err, ErrConflict) && s.readBack(ctx, writes[:1]) == lost", "errors.Is(err, ErrConflict)"},
		}, documentFolder, "TestIncompleteWrites"},
		{"a write of a document is settled for as long as the database is slow", []codeEdit{
			{documentFolder, "Service.settle", "context.WithTimeout(ctx, settleTimeout)", "context.WithCancel(ctx)"},
		}, documentFolder, "TestSettlingIsBoundedInTime"},
	}
}

func eventDefects() []defectCase {
	return []defectCase{
		{"the last update is lost that comes while a poll is read", []codeEdit{
			{liveFolder, "trackedSource.stopWorking", "s.dirty || s.due || s.hinted > s.head", "s.dirty"},
		}, liveFolder, "TestUpdatesAreCoalesced"},
		{"an answer that was read and taken back stays on the staff's page", []codeEdit{
			{eventFolder, "DiffQuestion", "final.Head == known.Head && final.Stats == known.Stats", "final.Stats == known.Stats"},
		}, liveFolder, "TestRankUpdates"},
		{"a lease lasts longer for its owner than for the others", []codeEdit{
			{sinkFolder, "queueLease.acquire", "begun := l.clock.Now()", ""},
			{sinkFolder, "queueLease.acquire", "begun.Add(span)", "l.clock.Now().Add(span)"},
		}, sinkFolder, "TestLeaseThatIsWrittenSlowly"},
		{"a position moves past what a request had no room for", []codeEdit{
			{sinkFolder, "deliveryQueue.recordOutcome", "p.steps[p.sent-1].After", "p.steps[len(p.steps)-1].After"},
		}, sinkFolder, "TestEveryMessageIsDelivered"},
		{"a sink connects to an IPv4 address of this network in its IPv6 form", []codeEdit{
			{sinkFolder, "isPublic", `a.Unmap().WithZone("")`, "a"},
		}, sinkFolder, "TestIsPublic"},
	}
}

// hiddenDefects show viewers something of hidden results, one for each path.
func hiddenDefects() []defectCase {
	return []defectCase{
		{"GET and POST /vote show hidden results", []codeEdit{
			{operations, "Caller.show", "c.IsAudienceOf(id)", "false"},
		}, apiFolder, "TestTwins"},
		{"a vote is answered as if its poll hid nothing", []codeEdit{
			{votingFolder, "voteCommand.answerFrom", "config: s.hidingConfig()", "config: nil"},
		}, apiFolder, "TestTwins"},
		{"public results show what is hidden from viewers", []codeEdit{
			{votingFolder, "Config.IsPublic", "(c.PublicResults || c.Verifiable) && !c.HidesResults(status)", "c.PublicResults"},
		}, apiFolder, "TestPublicResultsFollowVisibility"},
		{"names of public results that anyone asks for keep polls in memory", []codeEdit{
			{votingFolder, "pollRules.Visits", "return visit", "return visit && false"},
		}, apiFolder, "TestUnknownPublicNames"},
		{"a decayed sum shows hidden votes", []codeEdit{
			{votingFolder, "Statistics.hide", "newStatistics(shown, Decay{})", "newStatistics(shown, s.decay)"},
		}, apiFolder, "TestTwins"},
		{"events show hidden results", []codeEdit{
			{eventFolder, "DiffPoll", "side == Viewers", "false"},
		}, apiFolder, "TestTwins"},
		{"ids of events count what only staff receives", []codeEdit{
			{liveFolder, "eventNumbers.assign", "e.For.Reaches(event.Viewers)", "true"},
			{liveFolder, "numberOf", "eventNumbers{e.Sequence, e.ViewerSequence}.of(side)", "eventNumbers{e.Sequence, e.Sequence}.of(side)"},
			{liveFolder, "eventNumbers.assign", "e.ViewerSequence = n.viewers", "e.ViewerSequence = n.staff"},
		}, apiFolder, "TestTwins"},
		{"a viewer that resumes receives results that are hidden by now", []codeEdit{
			{liveFolder, "trackedSource.newestOf", "later.Name == e.Name && later.For.Reaches(side)", "false"},
		}, liveFolder, "TestResumeAfterHiding"},
		{"the time of an event tells of a hidden vote", []codeEdit{
			{liveFolder, "trackedSource.awaitTick", "s.hides && !s.timely", "false"},
		}, apiFolder, "TestTwins"},
		{"a history shows hidden results", []codeEdit{
			{votingFolder, "Service.HidesPast", "!viewer", "true"},
		}, apiFolder, "TestTwins"},
		{"each of several equal questions about the past folds the log", []codeEdit{
			{operations, "pastAnswers.ask", "a != nil", "false"},
		}, apiFolder, "TestEqualHistories"},
		{"a purchase takes coins in a channel that has no room for it", []codeEdit{
			{"services/purchase", "nextPage", "currency == Coins && listed >= pageSize", "false"},
		}, "services/purchase", "TestFullChannelRefusesCoins"},
		{"a refund in several steps makes coins where there are no transactions", []codeEdit{
			{"services/purchase", "Service.change", "!s.peersRead()", "errors.Is(err, errEarly)"},
		}, "services/purchase", "TestHistories"},
		{"purchases in several steps are uncertain, and lost, over a server without transactions", []codeEdit{
			{"services/purchase", "Service.change", "!s.peersRead()", "errors.Is(err, errEarly)"},
		}, "services/purchase", "TestCoinsWithoutTransactions/races"},
		{"GET /vote shows hidden results of the past", []codeEdit{
			{votingFolder, "Service.TallyAt", "viewer && now.Hidden", "false"},
			{votingFolder, "Service.TallyAt", "s.HidesPast(ctx, p, v, viewer)", "s.HidesPast(ctx, p, v, false)"},
		}, apiFolder, "TestTwins"},
		{"the pub/sub receives hidden results", []codeEdit{
			{sinkFolder, "pubSubSender.side", "event.Viewers", "event.Staff"},
		}, sinkFolder, "TestTwinsOnThePlatform"},
		{"a hidden vote runs the queue of the pub/sub", []codeEdit{
			{sinkFolder, "concealedPolls.postpone", "!ok", "!ok || true"},
		}, sinkFolder, "TestTwinsOnThePlatform"},
	}
}

// worldDefects are those that the simulation of the whole program finds.
func worldDefects() []defectCase {
	return []defectCase{
		{"a member that was unreachable once stays so", []codeEdit{
			{peerFolder, "memberLink.probeMember", "l.down.Store(false)", "l.down.Load()"},
		}, appFolder, "TestSimulation"},
		{"a program answers a vote before its disk has it", []codeEdit{
			{pebbleFolder, "Store.write", "Sync: b.durable", "Sync: false"},
		}, appFolder, "TestSimulation"},
		{"a vote of unknown outcome has no answer for minutes", []codeEdit{
			{streamFolder, "internalLimits.withDefaults", "15*time.Second", "15*time.Minute"},
		}, appFolder, "TestSimulation"},
		{"several documents are written outside their transaction", []codeEdit{
			{mongoFolder, "Store.runTransaction", "s.tryInsert(ctx, w, own)", "s.tryInsert(context.Background(), w, own)"},
		}, appFolder, "TestSimulation"},
		{"a duplicate key is believed where reads are late", []codeEdit{
			{streamFolder, "streamLog.commitChunk", "err == nil && l.head.Seq >= chunk.Seq", "err == nil"},
			{mongoFolder, "insertResult", "mongo.IsDuplicateKeyError(failure.WriteError) && result.WriteConcernError != nil", "false"},
		}, appFolder, "TestSimulation"},
		{"a poll's start and end reach no webhook without a vote", []codeEdit{
			{sinkFolder, "sinkWorker.recordDelivered", "next != 0", "false"},
		}, sinkFolder, "TestWebhookReceivesEverything"},
		{"what a change stream has lost reaches no webhook for minutes", []codeEdit{
			{sinkFolder, "Manager.requestSweeps", "m.workers", "map[workerName]*sinkWorker(nil)"},
		}, sinkFolder, "TestChangeStreamIsInterrupted"},
		{"what a process wrote and did not report before it ended reaches no webhook for minutes", []codeEdit{
			{peerFolder, "memberWatch.incomplete", "now.Sub(w.departed) < settleAfter", "false"},
		}, peerFolder, "TestWatchMemberThatEnds"},
		{"a process relies on reports that another one has dropped", []codeEdit{
			{peerFolder, "writtenLog.takeAfter", "after < first || after > l.last", "false"},
		}, peerFolder, "TestWatchForgottenWrites"},
		{"a sink whose first process dies begins minutes later", []codeEdit{
			{sinkFolder, "sinkWorker.sweepInterval", "w.m.fed.Load() && w.isInitialized()", "w.m.fed.Load()"},
		}, sinkFolder, "TestInitializationIsTakenOver"},
		{"two announcements of a poll have one id", []codeEdit{
			{eventFolder, "configPlace", "final.Config + string(final.Status)", "string(final.Status)"},
		}, appFolder, "TestAnnouncementsOverRestarts"},
		{"a document that was written is taken for lost", []codeEdit{
			{documentFolder, "Service.readBack", "documents[i].ID == w.ID", "false"},
		}, appFolder, "TestSimulation"},
	}
}

func accessDefects() []defectCase {
	return []defectCase{
		{"a Backend that limits what pods connect to cuts off DNS servers at another port than 53", []codeEdit{
			{desiredFolder, "dnsPorts", `intstr.FromString("dns")`, `intstr.FromInt32(53)`},
		}, desiredFolder, "TestBackend/everything"},
		{"the sandboxes of many extensions fill the store", []codeEdit{
			{operations, "Caller.claims", "c.Environment == tenant.Sandbox && extension.Limited()", "false"},
		}, apiFolder, "TestSandboxesShareAQuota"},
		{"a broadcast ignores its target", []codeEdit{
			{apiFolder, "API.broadcast", "m.To, err = targetOf(body)", "_, err = targetOf(body)"},
		}, apiFolder, "TestTargets"},
		{"a credential is cached before the limiter admits its caller", []codeEdit{
			{operations, "CredentialVerifier.findCaller", "found.credential, err = v.parseHeader(header)", "found.credential, err = v.parseHeader(header)\n\tcurrent.verified.Add(found.digest, found.credential)"},
		}, operations, "TestOnlyAdmittedCredentialsAreCached"},
		{"a credential has several spellings", []codeEdit{
			{operations, "decodeSegment", "base64.RawURLEncoding.Strict()", "base64.RawURLEncoding"},
		}, operations, "TestOtherSpellingsOfATokenAreRefused"},
		{"a claim that is there twice is read by its last value", []codeEdit{
			{operations, "parseClaims", "o.members.HasDoubled()", "false"},
		}, operations, "TestDoubledClaimsAreRefused"},
		{"published keys are accepted from games on other machines", []codeEdit{
			{appFolder, "Config.publicListener", "c.GameListen", "c.Listen"},
		}, appFolder, "TestSampleKeysNeedLoopback"},
	}
}

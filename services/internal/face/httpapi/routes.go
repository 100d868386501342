package httpapi

import (
	"maps"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/state"
)

// Route is one method of one path, relative to the base address.
type Route struct {
	*operation.Definition
	Path   string
	handle routeHandler
}

type routeHandler func(a *API, w http.ResponseWriter, r *apiRequest) error

// Routes returns all routes of the contract, the most requested first.
func Routes() []Route { return routesOf(func(*operation.Definition) bool { return true }) }

// routesOf returns the routes of the operations that keep returns true for.
func routesOf(keep func(*operation.Definition) bool) (routes []Route) {
	handlers := handlers()
	for _, o := range operation.Table() {
		if !keep(&o) {
			continue
		}
		for _, path := range o.Paths {
			routes = append(routes, Route{&o, path, handlers[o.Name]})
		}
	}
	return routes
}

// handlers returns the handler of each operation by its name.
func handlers() map[string]routeHandler {
	all := documentHandlers()
	for _, some := range []map[string]routeHandler{pollHandlers(), channelHandlers(), emptyHandlers()} {
		maps.Copy(all, some)
	}
	return all
}

// pollHandlers returns those of polls, buffers and questions.
func pollHandlers() map[string]routeHandler {
	return map[string]routeHandler{
		"vote.cast":           (*API).postVote,
		"vote.read":           (*API).getVote,
		"vote.reset":          (*API).deleteVote,
		"vote.log":            (*API).getVoteLogs,
		"vote.modify":         (*API).postVoteModifier,
		"vote.castall":        (*API).postVotes,
		"vote.history":        (*API).getVoteHistory,
		"poll.config.read":    (*API).getVoteConfig,
		"poll.config.replace": (*API).postVoteConfig,
		"poll.config.change":  (*API).patchVoteConfig,
		"poll.read":           (*API).getPoll,
		"poll.list":           (*API).getPolls,
		"poll.result":         (*API).getPublicResult,
		"vote.receipt":        (*API).getReceipt,
		"log.file":            (*API).getLogFile,
		"device.create":       (*API).postDevice,
		"picture.add":         (*API).postPicture,
		"picture.list":        (*API).getPictures,
		"picture.remove":      (*API).deletePicture,
		"picture.read":        (*API).getPicture,

		"buffer.append": (*API).postAccumulate,
		"buffer.read":   (*API).getAccumulate,
		"buffer.clear":  (*API).deleteAccumulate,

		"question.answer":         (*API).postRank,
		"question.top":            (*API).getRank,
		"question.clear":          (*API).deleteRank,
		"question.config.read":    (*API).getRankConfig,
		"question.config.replace": (*API).postRankConfig,
		"question.config.change":  (*API).patchRankConfig,
		"question.moderate":       (*API).postRankModeration,
	}
}

// documentHandlers returns those of state, configuration and the session.
func documentHandlers() map[string]routeHandler {
	all := map[string]routeHandler{
		"state.read":                    (*API).getAllState,
		"state.extensionviewer.read":    (*API).getViewerState,
		"state.extensionviewer.replace": changeDocument(state.ExtensionViewer, document.Replace),
		"state.extensionviewer.change":  (*API).patchViewerState,
		"config.read":                   (*API).getConfig,
		"session.read":                  (*API).getUserInfo,
	}
	for name, scope := range map[string]state.Scope{
		"state.channel": state.Channel, "state.extension": state.Extension, "state.hidden": state.ExtensionHidden,
		"state.viewer": state.Viewer, "config.channel": state.ChannelConfig, "config.extension": state.ExtensionConfig,
	} {
		all[name+".read"] = readDocument(scope)
		all[name+".replace"] = changeDocument(scope, document.Replace)
		all[name+".change"] = changeDocument(scope, document.ParseChange)
	}
	return all
}

// channelHandlers returns those of events, messages, games, overlays, purchases and the sandbox.
func channelHandlers() map[string]routeHandler {
	return map[string]routeHandler{
		"event.follow":                (*API).getEvents,
		"message.broadcast":           (*API).postBroadcast,
		"message.broadcast.named":     (*API).postPusherBroadcast,
		"message.broadcast.extension": (*API).postExtensionBroadcast,
		"message.whisper":             (*API).postWhisperSelf,
		"datastream.send":             (*API).postDatastream,
		"store.read":                  (*API).getStore,
		"store.write":                 (*API).postStore,
		"roster.list":                 (*API).getUserIDs,

		"pin.create":        (*API).postGameToken,
		"game.list":         (*API).getGames,
		"game.end":          (*API).deleteGame,
		"pin.open":          (*API).postPIN,
		"pin.revoke":        (*API).deletePIN,
		"pin.confirm":       (*API).postValidatePIN,
		"pin.exists":        (*API).getPINTokenExists,
		"overlaykey.create": (*API).postOverlayKey,
		"overlaykey.list":   (*API).getOverlayKeys,
		"overlaykey.revoke": (*API).deleteOverlayKey,
		"staffkey.create":   (*API).postStaffKey,
		"staffkey.list":     (*API).getStaffKeys,
		"staffkey.revoke":   (*API).deleteStaffKey,
		"staff.read":        (*API).getStaff,
		"staff.signout":     (*API).deleteStaff,
		"staff.signins":     (*API).getStaffSignIns,
		"staff.signin":      showRefusals((*API).getStaffSignIn),
		"staff.callback":    showRefusals((*API).getStaffCallback),

		"staff.device.begin":  (*API).postDeviceSignIn,
		"staff.device.finish": (*API).postDeviceSession,

		"viewer.signins":  (*API).getViewerSignIns,
		"viewer.signin":   showViewerRefusals((*API).getViewerSignIn),
		"viewer.callback": showViewerRefusals((*API).getViewerCallback),
		"viewer.signout":  (*API).deleteViewer,

		"bits.record": (*API).postBits,
		"coins.spend": (*API).postCoins,
		"coins.read":  (*API).getCoins,

		"sandbox.token": (*API).postAuthToken,
	}
}

// emptyHandlers returns the handlers of what this process does not have.
func emptyHandlers() map[string]routeHandler {
	return map[string]routeHandler{
		"code.redeemed":      answerWith(`{"redeemed":[]}`),
		"code.redeem":        answerWith(`{"all_prizes":[]}`),
		"code.list":          answerWith(`{"names":[]}`),
		"code.delete":        answerWith(`{"distributed":[]}`),
		"code.mark":          answerWith(`{"marked":0}`),
		"code.eligible":      answerWith(`{"eligible":[]}`),
		"trivia.read":        (*API).getTrivia,
		"trivia.answer":      refuseTrivia,
		"trivia.leaderboard": answerWith(`{"leaderboard":[]}`),
		"trivia.team.read":   answerWith(`{"id":""}`),
		"trivia.team.join":   answerWith(`{"id":""}`),
		"trivia.state":       refuseTrivia,
		"trivia.edit":        refuseTrivia,
		"trivia.delete":      refuseTrivia,
	}
}

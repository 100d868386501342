package peer

import (
	"net"
	"net/netip"

	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// Limits of the connections that have not shown a member's certificate. The addresses of
// members have a share of their own, which all processes at one of them have in common; all
// other addresses share one, in which a process that has just started needs a single
// connection.
const (
	memberConnections    = 16 // of an address of a member
	connectionsPerMember = 4  // at the address, more
	allMemberConnections = 4_096
	otherConnections     = 4 // of another address; of a /64 of IPv6
	allOtherConnections  = 64
)

// connectionPools count the connections that have not shown a member's certificate.
type connectionPools struct{ members, others *limit.Pool[netip.Prefix] }

func newConnectionPools(watch *limit.Watch) connectionPools {
	return connectionPools{
		members: limit.NewPool[netip.Prefix]("peer_connections", allMemberConnections, watch),
		others:  limit.NewPool[netip.Prefix]("other_peer_connections", allOtherConnections, watch),
	}
}

// refused returns how many connections were refused since the start.
func (p connectionPools) refused() uint64 {
	members, others := p.members.Stats(), p.others.Stats()
	return members.Full + members.OverShare + others.Full + others.OverShare
}

// admittingListener closes connections over the limit before their handshake: they cost no
// file descriptor and no key exchange.
type admittingListener struct {
	net.Listener
	pools connectionPools
	// countMembers returns how many members are at an address.
	countMembers func(netip.Addr) int
}

// Accept implements [net.Listener].
func (l admittingListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		lease := l.leaseFor(conn.RemoteAddr())
		if lease.Take(1) == nil {
			return admittedConn{conn, lease}, nil
		}
		_ = conn.Close() // nothing was written
	}
}

func (l admittingListener) leaseFor(remote net.Addr) *limit.Lease[netip.Prefix] {
	address, ok := hostOf(remote.String())
	if !ok {
		return l.pools.others.Lease(limit.Caller{})
	}
	bits := address.BitLen()
	if members := l.countMembers(address); members > 0 {
		return l.pools.members.Lease(limit.Caller{}, limit.Share[netip.Prefix]{
			Scope: limit.Address, Holder: netip.PrefixFrom(address, bits), Limit: memberConnections + connectionsPerMember*int64(members),
		})
	}
	if address.Is6() {
		bits = 64
	}
	return l.pools.others.Lease(limit.Caller{}, limit.Share[netip.Prefix]{Scope: limit.Address, Holder: netip.PrefixFrom(address, bits).Masked(), Limit: otherConnections})
}

// hostOf returns the address of a host:port. ok is false where that has a name.
func hostOf(hostPort string) (address netip.Addr, ok bool) {
	parsed, err := netip.ParseAddrPort(hostPort)
	return parsed.Addr().Unmap().WithZone(""), err == nil
}

// admittedConn holds its lease until it is closed or a member has it.
type admittedConn struct {
	net.Conn
	lease *limit.Lease[netip.Prefix]
}

// Close implements [net.Conn].
func (c admittedConn) Close() error {
	err := c.Conn.Close()
	c.lease.Release()
	return err
}

// releaseAdmission makes room for another connection: conn is a member's.
func releaseAdmission(conn net.Conn) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		if admitted, ok := secure.NetConn().(admittedConn); ok {
			admitted.lease.Release()
		}
	}
}

// RefusedConnections returns how many connections were closed before their handshake since
// the start.
func (n *Node) RefusedConnections() uint64 { return n.pools.refused() }

// countMembersAt returns how many members advertise an address.
func (n *Node) countMembersAt(address netip.Addr) int { return n.view.Load().hosts[address] }
